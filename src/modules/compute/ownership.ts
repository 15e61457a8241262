// Whether a thing that a tenant-scoped caller names belongs to its tenant. The platform checks the rights of our own root
// account, so it would let one tenant use another's volume; these checks come before any effect.
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'

const OWNED = {
  volume: { command: 'listVolumes', key: 'volume' },
  snapshot: { command: 'listSnapshots', key: 'snapshot' },
  project: { command: 'listProjects', key: 'project' },
  user_data: { command: 'listUserData', key: 'userdata' },
  security_group: { command: 'listSecurityGroups', key: 'securitygroup' },
  affinity_group: { command: 'listAffinityGroups', key: 'affinitygroup' },
} as const

/** Does nothing for callers that are not tenant-scoped, and for a field that was left out. */
export async function requireOwn(
  cloudstack: CloudStack,
  tenant_id: string | null,
  kind: keyof typeof OWNED,
  id: string | undefined,
): Promise<void> {
  if (tenant_id === null || id === undefined) return
  const { command, key } = OWNED[kind]
  if ((await findOne(cloudstack, command, key, { id, ...scopeOf(tenant_id) })) !== undefined) return
  throw new ApiError('RESOURCE_NOT_FOUND', `${nameOf(kind)} ${id} not found.`)
}

function nameOf(kind: keyof typeof OWNED): string {
  return kind.slice(0, 1).toUpperCase() + kind.slice(1).replaceAll('_', ' ')
}

/**
 * The network that a machine is to be put into. One without an owner, a shared one, is nobody's: whether the tenant may use
 * it is checked by the platform.
 */
export async function requireUsableNetwork(cloudstack: CloudStack, tenant_id: string | null, id: string): Promise<Raw> {
  const own = await findOne(cloudstack, 'listNetworks', 'network', { id, ...scopeOfOne(tenant_id) })
  if (own !== undefined) return own
  const network = await findOne(cloudstack, 'listNetworks', 'network', { id, ...WHOLE_SCOPE })
  if (network !== undefined && textOf(network, 'acltype')?.toLowerCase() === 'domain') return network
  throw new ApiError('RESOURCE_NOT_FOUND', `Network ${id} not found.`)
}

/** The same for a template or an ISO image, which must be ready in the zone; public ones are everybody's. */
export async function requireUsableImage(
  cloudstack: CloudStack,
  tenant_id: string | null,
  id: string | undefined,
  zone_id: string,
): Promise<void> {
  if (id === undefined) return
  let images: Raw[] = []
  for (const [command, filter, key] of IMAGES) {
    if (images.length > 0) break
    const rows = await readImage(cloudstack, command, key, { id, [filter]: 'all' })
    images = rows.filter((row) => isUsableImage(row, tenant_id))
  }
  const [image] = images
  if (image === undefined) throw new ApiError('RESOURCE_NOT_FOUND', `Template ${id} not found.`)
  const name = textOf(image, 'name')
  const here = images.filter((row) => textOf(row, 'zoneid') === zone_id || flagOf(row, 'crossZones') === true)
  if (here.some((row) => flagOf(row, 'isready') === true)) return
  throw new ApiError(
    'COMPUTE_REJECTED',
    here[0] === undefined
      ? `Template ${name} is not in zone ${zone_id}, but in ${[...new Set(images.map((row) => textOf(row, 'zonename')))].join(', ')}; copy it there or choose another one.`
      : `Template ${name} is not ready in zone ${textOf(here[0], 'zonename')}: ${textOf(here[0], 'status') ?? 'nothing is downloaded yet'}. Wait until its download has ended, or choose another one.`,
  )
}

/** One row for each zone that has it. */
export async function readImage(cloudstack: CloudStack, command: string, key: string, args: Args): Promise<Raw[]> {
  const read = cloudstack.call(command, { ...args, listall: true, showunique: false, page: 1, pagesize: 500 })
  try {
    return rowsOf(await read, key)
  } catch (error) {
    if (error instanceof CloudStackError && (error.status === 431 || error.status === 531)) return []
    throw error
  }
}

/** Where images are listed, with the parameter that selects among them. */
export const IMAGES = [
  ['listTemplates', 'templatefilter', 'template'],
  ['listIsos', 'isofilter', 'iso'],
] as const

export function isUsableImage(image: Raw, tenant_id: string | null): boolean {
  return tenant_id === null || flagOf(image, 'ispublic') === true || textOf(image, 'domainid') === tenant_id
}
