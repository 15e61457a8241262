// What the image that wipes the disks of a machine reports (Part 2, 4.4). The only change that nobody authenticates: it annotates
// the job and does nothing else.
import { type Static, Type } from 'typebox'
import { Closed } from '../common.ts'
import { defineArea } from '../route.ts'

const extension = { 'x-extension': true } as const
const Flag = (description: string) => Type.Integer({ minimum: 0, maximum: 1, description })
const Printable = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[\\x20-\\x7e]+$' })

export const WipeResult = Closed(
  {
    all_verified: Type.Optional(Flag('1 when every targeted disk was verified clean. Required.')),
    disks: Type.Optional(
      Type.Array(
        Closed({
          name: Type.Optional(Printable(128)),
          verified: Type.Optional(
            Type.Boolean({ description: 'Reading back found nothing of what was there. Required.' }),
          ),
          wiped: Type.Optional(Type.Boolean({ description: 'The method reported success. Required.' })),
          serial: Type.Optional({ ...Printable(128), ...extension }),
          method: Type.Optional({ ...Printable(64), ...extension }),
          error: Type.Optional({ ...Printable(256), ...extension }),
          size: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, ...extension })),
        }),
        { minItems: 1, maxItems: 128 },
      ),
    ),
    macs: Type.Optional(
      Type.Array(
        Type.String({
          pattern:
            '^([0-9A-Fa-f]{2}([:-]?))([0-9A-Fa-f]{2}\\2){4}[0-9A-Fa-f]{2}$|^([0-9A-Fa-f]{4}\\.){2}[0-9A-Fa-f]{4}$',
          maxLength: 17,
        }),
        { minItems: 1, maxItems: 64, description: 'Permanent addresses of all physical NICs. Required.' },
      ),
    ),
    success: Type.Optional(Flag('1 when every targeted disk was wiped. Required.')),
    token: Type.Optional(
      Type.String({ maxLength: 128, 'x-secret': true, ...extension, description: 'From the answers of the image.' }),
    ),
  },
  { title: 'WipeResult' },
)
export type WipeResult = Static<typeof WipeResult>

/** The documents require no member; a report without one of these says nothing. */
export interface WholeWipeResult {
  all_verified: number
  success: number
  disks: { name: string; verified: boolean; wiped: boolean; serial?: string; method?: string; error?: string }[]
  macs: string[]
}

const WipeReceived = Type.Object({ success: Type.Boolean(), message: Type.String() }, { title: 'WipeReceived' })

export const wipe = defineArea({
  name: 'wipe',
  description: 'Reports of wipe images.',
  routes: {
    wipeResultReport: {
      method: 'POST',
      path: '/configure/decommission/wipe-result',
      summary: 'Report result of wipe',
      description:
        'Called by the wipe image. The node is found by its NICs. The answer is the same whether a node was found or not. Only the report of the job changes: no state, no power, no other job.',
      access: 'public',
      body: WipeResult,
      ok: { 200: WipeReceived },
      errors: [400],
      event: { resource_type: 'NODE' },
      example: {
        body: {
          all_verified: 1,
          disks: [{ name: '/dev/nvme0n1', verified: true, wiped: true }],
          macs: ['b4:96:91:aa:00:01'],
          success: 1,
        },
        answer: { success: true, message: 'received' },
      },
    },
  },
})
