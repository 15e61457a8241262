// Settings of BMCs: the group `bmc` of the configuration.
import { Type } from 'typebox'

export const bmcSettings = {
  allowed_networks: Type.Array(Type.String(), {
    default: [],
    description:
      'Networks that BMCs are in: nothing else is ever contacted on their behalf. Loopback, link-local and metadata addresses only where a network within those blocks is named. Empty: BMC routes answer 500.',
  }),
  port: Type.Integer({
    default: 443,
    minimum: 1,
    maximum: 65535,
    description: 'Port of BMCs whose record names none.',
  }),
  ca_file: Type.Optional(Type.String({ description: 'PEM bundle for records with tls_mode ca.' })),
  insecure_allowed: Type.Boolean({
    default: false,
    description: 'Allow records with tls_mode insecure: any certificate is believed.',
  }),
  timeout_ms: Type.Integer({
    default: 60_000,
    minimum: 100,
    description: 'Longest wait for one answer of a BMC; twice as long where it fetches an image meanwhile.',
  }),
  watch_ms: Type.Integer({
    default: 10_000,
    minimum: 100,
    description: 'How often the power state of a watched BMC is read.',
  }),
  follow_ms: Type.Integer({
    default: 5000,
    minimum: 10,
    description: 'How often a job asks a BMC how far a change is.',
  }),
  patience_seconds: Type.Number({
    default: 300,
    minimum: 1,
    description:
      'How long a graceful shutdown, a restart or a fetch of an image may take before it counts as not come about.',
  }),
  silence_seconds: Type.Number({
    default: 900,
    minimum: 1,
    description: 'How long a BMC may be silent while a job waits for it, for instance while its firmware is written.',
  }),
  iso_dir: Type.Optional(Type.String({ description: 'Folder of images that machines may be started from.' })),
  wipe_image: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.+-]*\\.(iso|img)$',
      description: 'File of bmc.iso_dir that wipes the disks of a machine that is started from it.',
    }),
  ),
  wipe_image_sha256: Type.Optional(
    Type.String({ pattern: '^[0-9a-fA-F]{64}$', description: 'SHA-256 that this file must have.' }),
  ),
  image_addresses: Type.Array(Type.String(), {
    default: [],
    description: 'Further addresses under which BMCs reach this service, such as a virtual one.',
  }),
  image_port: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: 'Port, plain HTTP, under which BMCs reach GET /boot; the one listened on when left out.',
    }),
  ),
}
