// The job that acquires a public address, ties it to a machine and names it; what fails on the way releases the address.
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findJob, platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import type { Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { changeOnce, Submissions } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { type AddressDns, NO_DNS } from './address-dns.ts'
import { requirePublicIp } from './public-ips-view.ts'
import { enableNat } from './static-nat.ts'

export interface AcquireDeps {
  cloudstack: CloudStack
  dns: AddressDns | undefined
}

export const AcquireInput = Type.Object({
  /** As on the wire. */
  args: Type.Record(Type.String(), Type.String()),
  ip_address: Type.Union([Type.String(), Type.Null()]),
  nat: Type.Union([
    Type.Object({ vm_id: Type.String(), vm_name: Type.String(), network_id: Type.String() }),
    Type.Null(),
  ]),
  name: Type.Union([
    Type.Object({
      hostname: Type.String(),
      dns_zone: Type.Union([Type.String(), Type.Null()]),
      ttl: Type.Integer(),
      create_ptr: Type.Boolean(),
    }),
    Type.Null(),
  ]),
})
export type AcquireInput = Static<typeof AcquireInput>

const AcquireState = Type.Object({
  submissions: Submissions,
  ip_address: Type.String(),
  dns_name: Type.String(),
  ptr_created: Type.Boolean(),
  dns_failure: Type.String(),
})
type AcquireState = Partial<Static<typeof AcquireState>>

type AcquireRun = Run<AcquireDeps, AcquireInput, Static<typeof AcquireState>>

export const publicIpAcquireJob = defineJob<AcquireDeps>()({
  type: 'public-ip.acquire',
  input: AcquireInput,
  state: AcquireState,
  resource_type: 'PUBLIC_IP',
  on_failure: 'undo',
  steps: [
    { name: 'acquire', title: 'Acquire the address', weight: 3, run: acquire, undo: releaseAddress, retries: 0 },
    {
      name: 'nat',
      title: 'Associate it with the virtual machine',
      weight: 2,
      applies: ({ input }) => (input.nat === null ? 'No machine was named.' : true),
      run: associate,
      retries: 0,
    },
    {
      name: 'dns',
      title: 'Publish its name',
      applies: ({ input, deps }) => (input.name === null || deps.dns === undefined ? 'No name is published.' : true),
      run: publish,
      undo: withdraw,
    },
  ],
  done: (run) => sentenceOf(run.state),
})

async function acquire(run: AcquireRun): Promise<void> {
  const change = platformChange(run.deps.cloudstack, run, {
    name: ACQUIRE,
    id: run.job_id,
    command: 'associateIpAddress',
    args: run.input.args,
    creates: true,
    postcondition: { thing: 'public_ip', args: { id: '$id' }, expect: { state: 'Allocated' } },
    async onResult(result) {
      await run.save({ ip_address: textOf(objectOf(result, 'ipaddress') ?? {}, 'ipaddress') ?? '' })
    },
  })
  const { made } = await changeOnce(run, change)
  if (made === null) throw new Error('an address without an id was verified')
  await run.about({ id: made, name: run.state.ip_address ?? '' })
}

const ACQUIRE = 'acquire'

/** What a job that failed after the platform had made the address leaves behind counts, too. */
async function releaseAddress(run: AcquireRun): Promise<void> {
  const { cloudstack } = run.deps
  const id = await acquiredId(run)
  if (id === null) return
  const read = () => requirePublicIp(cloudstack, id, { caller: { tenant_id: null }, signal: run.signal })
  const address = await untilAnswered(run.signal, read).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'PUBLIC_IP_NOT_FOUND') return undefined
    throw error
  })
  if (address === undefined || address.state === 'Released') return
  const postcondition: Postcondition = {
    thing: 'public_ip',
    args: { id },
    expect: { state: ['Free', 'Releasing'] },
    gone: true,
  }
  const release = { name: 'release', command: 'disassociateIpAddress', args: { id }, postcondition }
  await changeOnce(run, platformChange(cloudstack, run, release))
}

async function acquiredId(run: AcquireRun): Promise<string | null> {
  const submission = run.state.submissions?.[ACQUIRE]
  if (submission === undefined || submission.made !== null) return submission?.made ?? null
  const find = () => findJob(run.deps.cloudstack, submission.id, run.signal)
  return (await untilAnswered(run.signal, find))?.made ?? null
}

async function associate(run: AcquireRun): Promise<void> {
  const { nat } = run.input
  const ip_id = run.state.submissions?.[ACQUIRE]?.made ?? null
  if (nat === null || ip_id === null) return
  const context = { caller: { ...run.caller, tenant_id: null }, signal: run.signal }
  await enableNat(run.deps.cloudstack, ip_id, { ...nat, vm_guest_ip: undefined }, context)
}

/** The address is what was asked for; a name that could not be published is reported, and the address stays. */
async function publish(run: AcquireRun): Promise<void> {
  const { dns } = run.deps
  const { name } = run.input
  const { ip_address } = run.state
  if (dns === undefined || name === null || ip_address === undefined) return
  try {
    const made = await dns.publish({ ...name, dns_zone: name.dns_zone ?? undefined, ip_address })
    await run.save({ dns_name: made.fqdn, ptr_created: made.ptr_created })
  } catch (error) {
    const { message } = asApiError(error, null)
    await run.note('WARN', `The name was not published: ${message}`)
    await run.save({ dns_failure: message })
  }
}

/** The address goes back, so whatever leads to it goes too; safe when nothing was published. */
async function withdraw({ deps, input, state }: AcquireRun): Promise<void> {
  const { ip_address } = state
  if (input.name === null || ip_address === undefined) return
  await deps.dns?.withdraw({ ip_address, dns_zone: input.name.dns_zone ?? undefined })
}

function sentenceOf({ dns_failure, dns_name: name, ip_address }: Readonly<AcquireState>): string {
  const done = `Public IP ${ip_address} is acquired.`
  if (dns_failure !== undefined) return `${done} Its name was not published: ${dns_failure}`
  return name === undefined ? done : `${done} Its name is ${name}.`
}

/** What the answer adds when a name was asked for and there is no DNS. */
export function missingDnsNote(create_dns: boolean, dns: AddressDns | undefined): string {
  return create_dns && dns === undefined ? ` No name was published. ${NO_DNS}` : ''
}
