// What every vendor BMC operation is asked with and answers alike (Part 2, 4.6).
import { Type } from 'typebox'
import { Closed, IpAddress } from '../common.ts'

/** Members of every request: which BMC, and credentials for this one call where they are not stored. */
export const BmcCallFields = {
  bmc_ip: IpAddress,
  username: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'For this call only; that of the record when left out.' }),
  ),
  password: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      'x-secret': true,
      description: 'With username. Credentials in a request need the role admin.',
    }),
  ),
}

export const VendorBmcRequest = Closed(BmcCallFields, { title: 'VendorBmcRequest' })

export const Extension = { 'x-extension': true } as const

/** Where to follow what goes on after the answer. */
export const FollowFields = {
  correlation_id: Type.String({
    ...Extension,
    description: 'Of the application event, and id of our own job: GET /jobs/{id}.',
  }),
}

/** Statuses of every route that speaks to a BMC: bad value, no or wrong credentials, BMC away. */
export const BMC_ERRORS = [400, 401, 500] as const
export const exampleCorrelation = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11'
