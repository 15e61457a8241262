// Whether a thing that a tenant-scoped caller names belongs to its tenant. The platform checks the rights of our own root
// account, so it would let one tenant use another's volume; these checks come before any effect.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
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
  if (await isListed(cloudstack, command, key, tenant_id, id)) return
  throw new ApiError('RESOURCE_NOT_FOUND', `${nameOf(kind)} ${id} not found.`)
}

function nameOf(kind: keyof typeof OWNED): string {
  return kind.slice(0, 1).toUpperCase() + kind.slice(1).replaceAll('_', ' ')
}

/**
 * The same for a network that a machine is to be put into. One without an owner, a shared one, is nobody's: whether the
 * tenant may use it is checked by the platform.
 */
export async function requireUsableNetwork(
  cloudstack: CloudStack,
  tenant_id: string | null,
  id: string | undefined,
): Promise<void> {
  if (tenant_id === null || id === undefined) return
  if (await isListed(cloudstack, 'listNetworks', 'network', tenant_id, id)) return
  const network = await findOne(cloudstack, 'listNetworks', 'network', { id, ...WHOLE_SCOPE })
  if (network !== undefined && textOf(network, 'acltype')?.toLowerCase() === 'domain') return
  throw new ApiError('RESOURCE_NOT_FOUND', `Network ${id} not found.`)
}

/** The same for a template or an ISO image; public ones are everybody's. */
export async function requireUsableImage(
  cloudstack: CloudStack,
  tenant_id: string | null,
  id: string | undefined,
): Promise<void> {
  if (tenant_id === null || id === undefined) return
  for (const [command, filter, key] of IMAGES) {
    const image = await findOne(cloudstack, command, key, { id, [filter]: 'all', listall: true })
    if (image !== undefined && isUsableImage(image, tenant_id)) return
  }
  throw new ApiError('RESOURCE_NOT_FOUND', `Template ${id} not found.`)
}

/** Where images are listed, with the parameter that selects among them. */
export const IMAGES = [
  ['listTemplates', 'templatefilter', 'template'],
  ['listIsos', 'isofilter', 'iso'],
] as const

export function isUsableImage(image: Raw, tenant_id: string | null): boolean {
  return tenant_id === null || flagOf(image, 'ispublic') === true || textOf(image, 'domainid') === tenant_id
}

async function isListed(
  cloudstack: CloudStack,
  command: string,
  key: string,
  tenant_id: string,
  id: string,
): Promise<boolean> {
  try {
    const content = await cloudstack.call(command, { id, ...scopeOf(tenant_id), page: 1, pagesize: 2 })
    return rowsOf(content, key).length > 0
  } catch (error) {
    if (error instanceof CloudStackError && (error.status === 431 || error.status === 531)) return false
    throw error
  }
}
