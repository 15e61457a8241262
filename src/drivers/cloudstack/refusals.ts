// What a refusal of the platform means to our caller (cloudstack.md 1.5): a code of ours and a sentence of ours. The
// platform's own text may hold host names and internal ids; it travels in `cause`, which only the log prints.
import type { ErrorCode } from '#src/contract/errors.ts'
import { ApiError, apiErrorOf, UpstreamError } from '#src/kernel/errors.ts'
import { CloudStackError, LostJobError } from './platform-error.ts'

interface Meaning {
  text: RegExp
  code: ErrorCode
  sentence: string
}

const rejected = (text: RegExp, sentence: string): Meaning => ({ text, code: 'COMPUTE_REJECTED', sentence })
const conflict = (text: RegExp, sentence: string): Meaning => ({ text, code: 'COMPUTE_CONFLICT', sentence })
const state = (text: RegExp, sentence: string): Meaning => ({ text, code: 'VM_STATE', sentence })

/** Fragments that are stable over versions, the narrow ones first; they decide for 431 and 530 alike. */
const MEANINGS: readonly Meaning[] = [
  rejected(
    /unable to use template|template .*(not ready|is not available)/i,
    'The template cannot be used in this zone.',
  ),
  rejected(
    /specify a value between|invalid cpu cores value/i,
    'A compute value is outside the range of the service offering.',
  ),
  rejected(
    /requires? a custom size|custom(ized)? size|size is fixed/i,
    'The size does not fit the disk offering: it is needed for a custom one and refused for a fixed one.',
  ),
  rejected(/delete protection/i, 'Delete protection is on.'),
  rejected(/invalid network service provider/i, 'The platform knows no network service provider of this name.'),
  rejected(/subset of services|update set of services/i, 'The services of this provider cannot be chosen one by one.'),
  rejected(/provider is not ready/i, 'The provider is not ready: its element must exist and be enabled first.'),
  conflict(
    /failed to add (virtual router|internal load balancer)/i,
    'The provider has its element already, or is of another kind.',
  ),
  rejected(/failed to configure the (virtual router|internal load balancer|ovs)/i, 'The element is of another kind.'),
  rejected(
    /remove the following services/i,
    'The new offering takes services away that are in use; `forced` goes on nevertheless.',
  ),
  rejected(/guest vm cidr/i, 'The guest range must lie inside the network’s range and hold every NIC.'),
  rejected(/openfirewall=true/i, 'Inside a VPC open_firewall cannot be true.'),
  rejected(/has static nat enabled/i, 'The address has static NAT.'),
  rejected(/(vm|virtual machine) doesn'?t belong to network/i, 'The virtual machine has no NIC in the network.'),
  rejected(
    /not consistent with the port range|ranges should be of equal sizes/i,
    'The private ports must be as many as the public ones.',
  ),
  rejected(
    /remove vm snapshots|have vm snapshots|vm snapshots? (first|before)/i,
    'The virtual machine has snapshots that must be removed first.',
  ),
  rejected(/same zone/i, 'Both must be in the same zone.'),
  rejected(/not attached/i, 'It is not attached to the virtual machine.'),
  rejected(/startdate cannot be after enddate/i, 'start_date is after end_date.'),
  rejected(
    /live scale|only scalling up|already has the requested service offering/i,
    'The service offering does not allow this change in the present state.',
  ),
  rejected(/shrink/i, 'Making a volume smaller needs shrink_ok.'),
  rejected(/max(imum)? number of ips per nic/i, 'The NIC has as many addresses as it may have.'),
  rejected(/control characters?|should not contain/i, 'A text holds characters that are not allowed.'),
  rejected(/not on the list of allowed keys/i, 'The extra configuration holds an element that is not allowed.'),
  state(/already running/i, 'The virtual machine is running already.'),
  state(
    /not running|is not stopped|(must|should) be (stopped|running)|make sure the virtual machine is|(running or stopped|stopped or running)|not in the right state|not in the shutdown state|in the state of/i,
    'The state of the resource does not allow this.',
  ),
  conflict(
    /please choose another ip|already (assigned|allocated|in use)|nic already exists/i,
    'The address or NIC is in use already.',
  ),
  conflict(/already exists|already present|already the default|is already/i, 'It exists, or is so, already.'),
  conflict(/in use|is being used|active networks using/i, 'It is in use.'),
]

const NOT_FOUND = /entity does not exist|unable to find|doesn'?t exist|does not exist|not found|no such/i

/** The error for the caller: a refusal that tells what to change, else the general failure of the subsystem. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof LostJobError) {
    return new ApiError(
      'JOB_INTERRUPTED',
      'The compute platform ended the operation without an outcome; look at the resource before you repeat it.',
      { cause: error },
    )
  }
  if (!(error instanceof CloudStackError)) return error instanceof UpstreamError ? apiErrorOf(error) : error
  const found = meaningOf(error)
  return found === undefined ? apiErrorOf(error) : new ApiError(found.code, found.sentence, { cause: error })
}

/** Lets a platform refusal leave as an error of ours. */
export async function orRefusal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw refusalOf(error)
  }
}

type Verdict = Pick<Meaning, 'code' | 'sentence'>

function meaningOf(error: CloudStackError): Verdict | undefined {
  const text = error.detail ?? ''
  switch (error.status) {
    case 431:
      return (
        missing(error, text) ??
        known(text) ?? {
          code: 'COMPUTE_REJECTED',
          sentence:
            'The compute platform refused a value of the request, or the state of the resource does not allow it.',
        }
      )
    case 530:
      return byNumber(error.cserrorcode) ?? known(text) ?? (/not found/i.test(text) ? missing(error, text) : undefined)
    case 531:
      return {
        code: 'COMPUTE_REJECTED',
        sentence: 'The account or zone that the request names is disabled, or may not do this.',
      }
    case 532:
    case 535:
      return { code: 'QUOTA_EXCEEDED', sentence: 'A resource limit of the account or tenant is exceeded.' }
    case 533:
      return error.operation === 'deployVirtualMachine' || /DeployVM/.test(error.operation)
        ? { code: 'CAPACITY_EXCEEDED', sentence: 'No host has the capacity that the virtual machine needs.' }
        : undefined
    case 536:
    case 537:
      return { code: 'COMPUTE_CONFLICT', sentence: 'It is in use, or conflicts with a rule that exists.' }
    default:
      return undefined
  }
}

function known(text: string): Verdict | undefined {
  return MEANINGS.find((meaning) => meaning.text.test(text))
}

/** Finer numbers that survive where the status is the general 530. */
function byNumber(cserrorcode: number | undefined): Verdict | undefined {
  if (cserrorcode === 4375 || cserrorcode === 4360) {
    return { code: 'COMPUTE_CONFLICT', sentence: 'It is in use, or conflicts with a rule that exists.' }
  }
  return cserrorcode === 4370
    ? { code: 'QUOTA_EXCEEDED', sentence: 'A resource limit of the account or tenant is exceeded.' }
    : undefined
}

function missing(error: CloudStackError, text: string): Verdict | undefined {
  if (!NOT_FOUND.test(text)) return undefined
  const parameter = error.about
  if (aboutVm(error.operation, parameter, text))
    return { code: 'VM_NOT_FOUND', sentence: 'There is no such virtual machine.' }
  return {
    code: 'RESOURCE_NOT_FOUND',
    sentence:
      parameter === undefined
        ? 'A thing that the request names does not exist.'
        : `There is nothing with this ${fieldName(parameter)}.`,
  }
}

function aboutVm(command: string, parameter: string | undefined, text: string): boolean {
  if (parameter === undefined) return /virtual machine|unable to find a? ?vm\b/i.test(text)
  return parameter === 'virtualmachineid' || (parameter === 'id' && /VirtualMachine/.test(command))
}

/** `serviceofferingid` as callers know it: `service_offering_id`. */
export function fieldName(parameter: string): string {
  const words = [
    'service',
    'disk',
    'network',
    'virtual',
    'machine',
    'offering',
    'template',
    'physical',
    'volume',
    'snapshot',
    'affinity',
    'group',
    'security',
    'host',
    'zone',
    'pod',
    'cluster',
    'domain',
    'project',
    'storage',
    'user',
    'data',
    'gpu',
    'card',
    'vgpu',
    'profile',
    'nic',
    'iso',
    'os',
    'type',
    'vpc',
    'nsp',
    'key',
    'pair',
    'id',
    'ids',
    'ip',
    'address',
  ]
  const split = new RegExp(words.toSorted((a, b) => b.length - a.length).join('|'), 'g')
  const parts = parameter.match(split) ?? []
  return parts.join('') === parameter ? parts.join('_') : parameter
}
