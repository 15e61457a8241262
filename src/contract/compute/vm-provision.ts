// The request that makes a virtual machine (Part 3, 4.1; fields as decided for the platform's deploy call).
import { type Static, Type } from 'typebox'
import { Closed, Count, Id, IpAddress, OneOf } from '../common.ts'

const Text = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))
const OptionalId = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 128, description }))

/** Letters, digits and hyphens, as host names are. */
export const HOST_NAME = '^[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$'

export const VmProvision = Closed(
  {
    name: Type.Optional(
      Type.String({
        pattern: HOST_NAME,
        maxLength: 63,
        description: 'Host name: letters, digits, hyphens. Made up when left out.',
      }),
    ),
    display_name: Text(255, 'Name for people.'),
    group: Text(255, 'Free word that groups machines.'),
    zone_id: Id,
    template_id: OptionalId('Template (or ISO) to start from. Exactly one of template_id, volume_id and snapshot_id.'),
    volume_id: OptionalId('Volume that becomes the root disk.'),
    snapshot_id: OptionalId('Volume snapshot that the root disk is made from.'),
    service_offering_id: Id,
    disk_offering_id: OptionalId('Offering of an additional disk; with an ISO, of the root disk.'),
    disk_size_gb: Count(1_048_576, 'Size of that disk, for an offering of custom size.'),
    root_disk_size_gb: Count(1_048_576, 'Size of the root disk; the template’s when left out.'),
    network_ids: Type.Optional(
      Type.Array(Id, {
        minItems: 1,
        maxItems: 32,
        description: 'Networks in NIC order; the first is the default. Excludes `networks`.',
      }),
    ),
    networks: Type.Optional(
      Type.Array(
        Closed({
          network_id: Id,
          ip_address: Type.Optional(IpAddress),
          mac_address: Type.Optional(
            Type.String({ pattern: '^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$', description: 'Six pairs with colons.' }),
          ),
        }),
        { minItems: 1, maxItems: 32, description: 'Networks with chosen addresses.' },
      ),
    ),
    cpu_cores: Count(1024, 'Cores, for an offering of custom size.'),
    memory_mb: Count(16_777_216, 'Memory in MiB, for an offering of custom size.'),
    cpu_speed_mhz: Count(10_000, 'Speed of a core, for an offering without a fixed one.'),
    hypervisor: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9]{2,32}$', description: 'Needed when starting from an ISO.' }),
    ),
    boot_type: Type.Optional(OneOf(['BIOS', 'UEFI'], { description: 'Firmware.' })),
    boot_mode: Type.Optional(OneOf(['LEGACY', 'SECURE'], { description: 'Needed with UEFI; SECURE is Secure Boot.' })),
    user_data: Type.Optional(
      Type.String({ maxLength: 1_400_000, contentEncoding: 'base64', description: 'Cloud-init data in Base64.' }),
    ),
    user_data_id: OptionalId('Registered user data.'),
    key_pairs: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255, pattern: '^[^,]+$' }), {
        maxItems: 32,
        description: 'Names of SSH key pairs.',
      }),
    ),
    affinity_group_ids: Type.Optional(Type.Array(Id, { maxItems: 32, description: 'Affinity groups.' })),
    host_id: OptionalId('Start on this host.'),
    cluster_id: OptionalId('Start in this cluster.'),
    pod_id: OptionalId('Start in this pod.'),
    account: Text(255, 'Owner; needs domain_id.'),
    domain_id: OptionalId('Tenant of the owner.'),
    project_id: OptionalId('Project that owns it; excludes account.'),
    start: Type.Optional(Type.Boolean({ default: true, description: 'Start it when it is made.' })),
    data_disks: Type.Optional(
      Type.Array(
        Closed({ disk_offering_id: Id, size_gb: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_048_576 })) }),
        {
          minItems: 1,
          maxItems: 16,
          description: 'Further disks.',
        },
      ),
    ),
    extra_config: Text(16_384, 'Hypervisor configuration, where the platform allows it. Admins only.'),
    details: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9._-]{1,255}$' }), Type.String({ maxLength: 4096 }), {
        description: 'Further details, handed on as they are. Admins only.',
      }),
    ),
  },
  { title: 'VmProvision' },
)
export type VmProvision = Static<typeof VmProvision>
