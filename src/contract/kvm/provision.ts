// Installing and revealing machines through their remote KVMs, and the reports of those machines (Part 2, 4.5).
import { type Static, Type } from 'typebox'
import { Closed, IpAddress, Nullable, NullableText, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'

const Extension = { 'x-extension': true } as const

export const POOL_TYPES = ['mirror', 'raidz1', 'stripe', 'single'] as const
export const BOOT_STRATEGIES = ['order', 'bmc', 'keys', 'manual'] as const

const Mac = Type.String({
  minLength: 17,
  maxLength: 17,
  pattern: '^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$',
  description: 'MAC address.',
})

/** How the machine comes to start from the connected image. */
const BootFields = {
  boot_strategy: Type.Optional(
    OneOf([...BOOT_STRATEGIES], {
      ...Extension,
      default: 'order',
      description:
        'order: the firmware tries USB before disks. bmc: the BMC of vendor_bmc_ip is told to start from USB once. keys: boot_keys are pressed while the firmware starts. manual: a person starts it; the job waits.',
    }),
  ),
  boot_keys: Type.Optional(
    Type.Array(Type.String({ minLength: 2, maxLength: 32, pattern: '^[A-Z][A-Za-z0-9]+$' }), {
      ...Extension,
      minItems: 1,
      maxItems: 16,
      description:
        'Of the strategy keys: the key of the boot menu, then those that choose in it (F11, ArrowDown, Enter).',
    }),
  ),
  vendor_bmc_ip: Type.Optional(
    Type.String({
      ...Extension,
      minLength: 2,
      maxLength: 45,
      description: 'BMC of the same machine, where it has one: it then names the node.',
    }),
  ),
  media: Type.Optional(
    OneOf(['cdrom', 'flash'], {
      ...Extension,
      default: 'cdrom',
      description: 'What the image looks like to the machine.',
    }),
  ),
  power_led: Type.Optional(
    Type.Boolean({
      ...Extension,
      default: true,
      description: 'False: the power LED is not wired, so buttons are pressed without knowing the state.',
    }),
  ),
  force: Type.Optional(Type.Boolean({ ...Extension, description: 'Eject an image that somebody else has connected.' })),
}

export const KvmProvisionRequest = Closed(
  {
    bmc_ip: Type.String({
      minLength: 2,
      maxLength: 45,
      description: 'Address of the KVM; its record has the credentials.',
    }),
    control_node_ip: Type.Optional(
      Type.String({
        maxLength: 45,
        description:
          'Address of this service that the machine reports to: one of its own, of a management node, or of `bmc.image_addresses`. Empty: the one on the way to the KVM.',
      }),
    ),
    hostname: Type.Optional(
      Type.String({
        maxLength: 63,
        pattern: '^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)?$',
        description: 'Unique among nodes. Empty: node- and the last three bytes of the MAC address.',
      }),
    ),
    os_password: Type.Optional(
      Type.String({
        minLength: 8,
        maxLength: 128,
        pattern: '^[\\x20-\\x7e]+$',
        'x-secret': true,
        description:
          'Of the user and of root. Left out: installer.default_password, else one that is made and shown in the answer, once.',
      }),
    ),
    os_username: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 32,
        pattern: '^[a-z_][a-z0-9_-]*$',
        default: 'admin',
        'x-documented-default': true,
        description: 'User with the right to become root; no account of the system.',
      }),
    ),
    pool_type: Type.Optional(
      OneOf([...POOL_TYPES], {
        default: 'single',
        description: 'single needs 1 disk, mirror 2 or more, raidz1 3 or more, stripe 2 or more.',
      }),
    ),
    prefix_id: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 2_147_483_647,
        description: 'IPAM prefix that the address is allocated from.',
      }),
    ),
    selected_disks: Type.Optional(
      Type.Array(Type.String({ minLength: 2, maxLength: 255, pattern: '^[A-Za-z0-9._:/+-]+$' }), {
        maxItems: 64,
        description:
          'Serial numbers, worldwide names, or names of /dev/disk/by-id. Names such as sda are accepted for machines that were revealed.',
      }),
    ),
    selected_nic: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 32,
        pattern: '^[A-Za-z0-9._-]+$',
        description: 'A hint; the MAC address decides.',
      }),
    ),
    selected_nic_mac: Type.Optional(Mac),
    static_dns: Type.Optional(
      Type.String({ maxLength: 200, description: 'Up to three name servers, separated by commas.' }),
    ),
    static_gateway: Type.Optional(Type.String({ maxLength: 45 })),
    static_ip: Type.Optional(Type.String({ maxLength: 45, description: 'Needs static_netmask and static_gateway.' })),
    static_netmask: Type.Optional(Type.String({ maxLength: 45, description: 'As 255.255.255.0 or 24.' })),
    timezone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        default: 'UTC',
        'x-documented-default': true,
        description: 'IANA name, such as Europe/Berlin.',
      }),
    ),
    ...BootFields,
    wipe_existing: Type.Optional(
      Type.Boolean({ ...Extension, description: 'Install over disks that hold data; else the installer stops.' }),
    ),
  },
  { title: 'KvmProvisionRequest' },
)
export type KvmProvisionRequest = Static<typeof KvmProvisionRequest>

export const KvmRevealRequest = Closed(
  {
    controlNodeIp: Type.String({ minLength: 2, maxLength: 45, description: 'As control_node_ip of provision.' }),
    kvmIP: Type.String({
      minLength: 2,
      maxLength: 45,
      description: 'Address of the KVM; its record has the credentials.',
    }),
    ...BootFields,
    auto_boot: Type.Optional(
      Type.Boolean({
        ...Extension,
        description: 'Restart the machine from the image at once. Default: somebody starts it within 15 minutes.',
      }),
    ),
  },
  { title: 'KvmRevealRequest' },
)
export type KvmRevealRequest = Static<typeof KvmRevealRequest>

const Text = Type.String({ maxLength: 255 })
const MaybeText = Nullable(Text)
const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Count = Type.Integer({ minimum: 0, maximum: 100_000 })

/** What the reveal image finds. Nothing of it is believed beyond what the node is. */
export const HardwareReport = Closed(
  {
    system: Closed({ manufacturer: MaybeText, product: MaybeText, serial: MaybeText, uuid: MaybeText }),
    cpu: Closed({ model: MaybeText, sockets: Count, cores: Count, threads: Count }),
    memory_bytes: Bytes,
    nics: Type.Array(
      Closed({
        name: Text,
        mac: Mac,
        pci: MaybeText,
        driver: MaybeText,
        link: Type.Boolean(),
        speed_mbps: Nullable(Count),
        neighbour: NullableText('Switch and port by LLDP.'),
      }),
      { maxItems: 64 },
    ),
    disks: Type.Array(
      Closed({
        name: Text,
        serial: MaybeText,
        wwn: MaybeText,
        bytes: Bytes,
        type: Text,
        removable: Type.Boolean(),
        signatures: Type.Array(Text, { maxItems: 16, description: 'What is on it now.' }),
      }),
      { maxItems: 128 },
    ),
    bmc_ip: Nullable(Type.String({ maxLength: 45, description: 'Of the BMC of the machine, where it has one.' })),
  },
  { title: 'HardwareReport' },
)
export type HardwareReport = Static<typeof HardwareReport>

export const PHASES = ['live-booted', 'installed', 'failed', 'first-boot', 'revealed'] as const
export type Phase = (typeof PHASES)[number]

export const PhoneHomeRequest = Closed(
  {
    token: Type.String({ minLength: 43, maxLength: 43, 'x-secret': true, description: 'From the answer file.' }),
    phase: OneOf([...PHASES]),
    macs: Type.Array(Mac, { minItems: 1, maxItems: 64 }),
    boot_id: Type.String({ minLength: 1, maxLength: 64 }),
    code: Type.Optional(Type.String({ maxLength: 64, pattern: '^[a-z0-9-]+$', description: 'Of the phase failed.' })),
    detail: Type.Optional(
      Type.String({ maxLength: 8000, description: 'Of the phase failed: the last lines of the log.' }),
    ),
    pool_health: Type.Optional(Type.String({ maxLength: 32 })),
    addresses: Type.Optional(Type.Array(IpAddress, { maxItems: 32 })),
    ssh_host_keys: Type.Optional(
      Type.Array(Type.String({ maxLength: 800 }), { maxItems: 8, description: 'Public keys.' }),
    ),
    report: Type.Optional(HardwareReport),
  },
  { title: 'PhoneHomeRequest' },
)
export type PhoneHomeRequest = Static<typeof PhoneHomeRequest>

const started = {
  job_id: Type.String({ description: 'GET /jobs/{id} shows how it goes.' }),
  message: Type.String(),
  kvm_ip: Type.String(),
}
const exampleJob = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11'

export const kvmProvisioning = defineArea({
  name: 'kvm-provisioning',
  description: 'Installation and hardware discovery of machines through their remote KVMs.',
  routes: {
    kvmProvision: {
      method: 'POST',
      path: '/remotekvm-inventory/provision',
      summary: 'Install operating system through remote KVM',
      description:
        'Credentials are tried before anything begins. A job then makes an image of the template and the answers, connects it to the machine, starts the machine from it, and waits until the installed system reports its first boot and answers on SSH. The node is registered when it is not. `Prefer: wait` waits for the end.',
      access: 'admin',
      body: KvmProvisionRequest,
      ok: {
        200: Type.Object(
          {
            ...started,
            status: OneOf(['started', 'completed']),
            hostname: Type.String({ ...Extension }),
            os_password: Type.Optional(
              Type.String({
                ...Extension,
                'x-secret': true,
                description: 'Where one was made. It is shown this once.',
              }),
            ),
            warnings: Type.Array(Type.String(), { ...Extension }),
          },
          { title: 'KvmProvisionStarted' },
        ),
      },
      errors: [400, 401, 500],
      event: { resource_type: 'NODE' },
      example: {
        body: {
          bmc_ip: '10.1.0.41',
          hostname: 'node-41',
          pool_type: 'mirror',
          selected_disks: ['S3YJ001', 'S3YJ002'],
          selected_nic_mac: '02:00:0a:01:00:29',
          prefix_id: 3,
        },
        answer: {
          job_id: exampleJob,
          message: 'Installing node-41 through the KVM 10.1.0.41.',
          kvm_ip: '10.1.0.41',
          status: 'started',
          hostname: 'node-41',
          warnings: [],
        },
      },
    },
    kvmReveal: {
      method: 'POST',
      path: '/remotekvm-inventory/reveal',
      summary: 'Discover hardware through remote KVM',
      description:
        'Makes an image that reports the hardware of the machine that is started from it, and connects it. With auto_boot the machine is restarted at once. The disks and NICs found are then known to provision. `Prefer: wait` waits for the report.',
      access: 'admin',
      body: KvmRevealRequest,
      ok: {
        200: Type.Object(
          { ...started, status: OneOf(['started', 'completed']), report: Nullable(HardwareReport) },
          { title: 'KvmRevealStarted' },
        ),
      },
      errors: [400, 401, 500],
      event: { resource_type: 'NODE' },
      example: {
        body: { controlNodeIp: '10.0.0.5', kvmIP: '10.1.0.41', auto_boot: true },
        answer: {
          job_id: exampleJob,
          message: 'Discovering the hardware behind the KVM 10.1.0.41.',
          kvm_ip: '10.1.0.41',
          status: 'started',
          report: null,
        },
      },
    },
    nodePhoneHome: {
      method: 'POST',
      path: '/configure/nodes/phone-home',
      summary: 'Report phase of installation',
      description:
        'Called by a machine that was started from an image of ours. The token of its answer file is good for one job and until its end; a wrong one is 401. Phases only move forward. The answer says what to do next.',
      access: 'callback',
      effect: 'change',
      body: PhoneHomeRequest,
      ok: {
        200: Type.Object(
          {
            next: OneOf(['continue', 'wait', 'restart', 'stop'], {
              description:
                'wait: ask again in some seconds. restart: the image is disconnected. stop: do nothing more.',
            }),
            message: Type.String(),
          },
          { title: 'PhoneHomeAnswer' },
        ),
      },
      errors: [400, 401, 429],
      extension: true,
      example: {
        body: { token: 'A'.repeat(43), phase: 'live-booted', macs: ['02:00:0a:01:00:29'], boot_id: 'b1' },
        answer: { next: 'continue', message: 'Install.' },
      },
    },
  },
})
