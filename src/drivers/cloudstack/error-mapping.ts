// What an error of the platform means to our caller: a code and a sentence of ours (cloudstack.md 1.5). The platform's own
// text decides, because its numbers are the same for many causes; it may hold host names and internal ids.
import type { ErrorMeaning } from '#src/kernel/errors.ts'
import { DISK_TEXTS } from './error-texts/disks.ts'
import { MACHINE_TEXTS, STATE_TEXTS } from './error-texts/machines.ts'
import { NETWORK_TEXTS } from './error-texts/networks.ts'
import { FAULT_TEXTS, REQUEST_TEXTS } from './error-texts/requests.ts'
import { TENANT_TEXTS } from './error-texts/tenants.ts'
import { filled, type Quotable, type TextRow } from './error-texts/text-row.ts'
import { fieldName, nounOf } from './field-name.ts'
import { limitMeaning } from './limit-text.ts'
import { readable, withoutInner } from './platform-text.ts'

/** An error as the platform gave it, at once or as the end of a job. */
export interface PlatformAnswer {
  /** The command, or the Java class of a job's. */
  operation: string
  status: number
  cserrorcode: number | undefined
  text: string
  /** The arguments as they were sent; empty when they are not known any more. */
  sent: Readonly<Record<string, string>>
}

type Meaning = Pick<ErrorMeaning, 'code' | 'message'>

/** `tenant_id`: whose callers will read it; to them what belongs to others does not exist. */
export function meaningOf(answer: PlatformAnswer, tenant_id: string | null): ErrorMeaning {
  const text = readable(answer.text)
  const found =
    limitMeaning(text, tenant_id) ??
    otherTenants(text, tenant_id) ??
    missing(answer, text) ??
    known(answer, text) ??
    byNumber(answer)
  return { ...found, upstream_message: withoutInner(answer.text, answer.sent) }
}

/** Narrow texts before wide ones. */
const TEXTS: readonly TextRow[] = [
  ...REQUEST_TEXTS,
  ...MACHINE_TEXTS,
  ...DISK_TEXTS,
  ...NETWORK_TEXTS,
  ...TENANT_TEXTS,
  ...STATE_TEXTS,
  [
    /already exists|already present|is already/i,
    'COMPUTE_CONFLICT',
    'There is {thing} already, or it is so already; look at what exists.',
  ],
  [
    /in use|is being used|active networks using/i,
    'COMPUTE_CONFLICT',
    'Something still uses {thing}; remove that first.',
  ],
  ...FAULT_TEXTS,
]

function known(answer: PlatformAnswer, text: string): Meaning | undefined {
  const { operation, sent } = answer
  const in_map = Object.entries(sent).find(([name]) => /^iptonetworklist\[\d+\]\.ip$/.test(name))?.[1]
  const asked = { ipaddress: in_map, ...sent, ...subjects(answer) }
  const is = /VM instance \{[^{}]*"state":"(\w+)"/.exec(answer.text)?.[1]
  for (const [pattern, code, message, command] of TEXTS) {
    if (command !== undefined && !command.test(operation)) continue
    const found = pattern.exec(text)
    if (found === null) continue
    const groups: Quotable = { ...found.groups }
    const field = groups.field === undefined ? {} : { field: fieldName(groups.field) }
    return { code, message: filled(message, { is, thing: thingOf(answer), ...groups, ...field }, asked) }
  }
  return undefined
}

/** What the command is about, by the id it was sent with. */
function subjects({ operation, sent }: PlatformAnswer): Quotable {
  const { id } = sent
  const own = (pattern: RegExp) => (pattern.test(operation) ? id : undefined)
  return {
    vm: sent.virtualmachineid ?? own(/VirtualMachine|VMs?Cmd|VMAffinityGroup/),
    volume: sent.volumeid ?? own(/Volume/),
    network: sent.networkid ?? own(/(?<!Physical)Network(?!Service|Offering)/),
    address: sent.ipaddressid ?? own(/IpAddress|IPAddr/),
    nic: sent.nicid,
    range: own(/IpRange|IPRange/),
    tenant: own(/Domain/),
    gpu: own(/GpuDevice/),
  }
}

const NO_ENTITY = /Invalid parameter (?<parameter>\w+) value=(?<value>\S+) due to incorrect long value format/
const GONE =
  /Unable to find UUID for id \[\d+\] of type \[(?<kind>\w+)\]|unable to find a (?<noun>virtual machine) with id/i

function missing(answer: PlatformAnswer, text: string): Meaning | undefined {
  const { operation, sent } = answer
  const entity = NO_ENTITY.exec(text)?.groups
  if (entity !== undefined) {
    const { parameter = '', value = '' } = entity
    if (/ids?$/.test(parameter)) return notFound(nounOf(parameter, operation), value)
    return { code: 'COMPUTE_REJECTED', message: `\`${fieldName(parameter)}\` cannot be ${value}.` }
  }
  const gone = GONE.exec(text)?.groups
  if (gone !== undefined) {
    const noun = gone.noun ?? nounOf('id', `get${gone.kind ?? ''}`)
    return notFound(noun, sent.id ?? sent.virtualmachineid ?? sent.nicid ?? '')
  }
  if (/VMInstanceDao\.findByUuid\(String\)" is null/.test(text))
    return notFound('virtual machine', sent.resourceid ?? '')
  return undefined
}

function notFound(noun: string, value: string): Meaning {
  const name = value === '' ? noun : `${noun} ${value}`
  return {
    code: noun === 'virtual machine' ? 'VM_NOT_FOUND' : 'RESOURCE_NOT_FOUND',
    message: `${name.startsWith('vGPU') ? name : name.slice(0, 1).toUpperCase() + name.slice(1)} not found.`,
  }
}

const OTHER_TENANTS_NETWORK = /Unable to use network with id= ?(?<id>\S+?), permission denied/
const OTHER_TENANTS =
  /^Entity (?<kind>AffinityGroup|VolumeObject|Volume|VM instance|Network|Template)\b.* belong to different accounts/

/** A thing of another owner than the one the request is for. */
function otherTenants(text: string, tenant_id: string | null): Meaning | undefined {
  const network = OTHER_TENANTS_NETWORK.exec(text)?.groups?.id
  if (network !== undefined) {
    if (tenant_id !== null) return notFound('network', network)
    return rejected(
      `Network ${network} belongs to another tenant than the virtual machine or address; name its owner with \`domain_id\` and \`account\`, or choose another network.`,
    )
  }
  const kind = OTHER_TENANTS.exec(text)?.groups?.kind
  if (kind === undefined) return undefined
  const affinity = kind === 'AffinityGroup'
  if (tenant_id !== null) return notFound(affinity ? 'affinity group' : 'volume', '')
  return rejected(
    affinity
      ? 'The affinity group belongs to another account than the virtual machine; choose one of its owner.'
      : 'The volume and the virtual machine belong to different accounts; both must have the same owner.',
  )
}

function rejected(message: string): Meaning {
  return { code: 'COMPUTE_REJECTED', message }
}

/** `virtual machine 4d9a…`: what the command is about, as far as it says. */
function thingOf(answer: PlatformAnswer): string {
  const { operation, sent } = answer
  const noun = nounOf('id', operation)
  const id = sent.id ?? sent.name ?? subjects(answer).vm
  return [noun === '' ? 'the resource' : noun, ...(id === undefined ? [] : [id])].join(' ')
}

/** For texts that nobody has seen yet; the log has them. */
function byNumber(answer: PlatformAnswer): Meaning {
  const { status, cserrorcode, operation } = answer
  const thing = thingOf(answer)
  const in_use: Meaning = {
    code: 'COMPUTE_CONFLICT',
    message: `Something uses ${thing}, or it conflicts with what exists; remove that first.`,
  }
  const quota: Meaning = {
    code: 'QUOTA_EXCEEDED',
    message: `A limit of the account or tenant is reached with ${thing}; raise it, or delete what is not needed.`,
  }
  const failed: Meaning = {
    code: 'COMPUTE_ERROR',
    message: `The compute platform failed with ${thing}; its operators find its own words in the log under this request id.`,
  }
  switch (status) {
    case 431:
      return rejected(
        `The compute platform refused a value of the request, or the state of ${thing} does not allow it.`,
      )
    case 432:
      return rejected(`The compute platform does not support this for ${thing} as it is.`)
    case 530:
      if (cserrorcode === 4375 || cserrorcode === 4360) return in_use
      return cserrorcode === 4370 ? quota : failed
    case 531:
      return rejected(`The account that the request names is disabled, or may not use ${thing} or what it refers to.`)
    case 532:
    case 535:
      return quota
    case 533:
      if (/^associateIp/i.test(operation))
        return { code: 'PUBLIC_IP_UNAVAILABLE', message: 'No such public address is free for this owner.' }
      return {
        code: 'CAPACITY_EXCEEDED',
        message: `The compute platform has not enough free capacity for ${thing}; add some, or free some.`,
      }
    case 536:
    case 537:
      return in_use
    default:
      return failed
  }
}
