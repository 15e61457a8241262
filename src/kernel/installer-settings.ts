// Settings of unattended installations: the group `installer` of the configuration.
import { Type } from 'typebox'

export const installerSettings = {
  template: Type.Optional(
    Type.String({
      description: 'ISO image that installs a node (deploy/installer). Unset: provision and reveal answer 500.',
    }),
  ),
  work_dir: Type.Optional(
    Type.String({
      description: 'Folder for images while they are made and sent; `installer` in data_dir when left out.',
    }),
  ),
  xorriso: Type.String({ default: 'xorriso', description: 'The program that adds the answers to the template.' }),
  node_networks: Type.Array(Type.String(), {
    default: [],
    description:
      'Networks that addresses of installed nodes are in: nothing else is ever asked whether SSH answers there.',
  }),
  callback_scheme: Type.Enum(['https', 'http'], {
    default: 'https',
    description: 'How a machine reports to us; http only where the network between is isolated.',
  }),
  callback_port: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: 'Port that machines report to; 443 for https, the one listened on for http, when left out.',
    }),
  ),
  callback_ca_file: Type.Optional(
    Type.String({
      description: 'PEM of the CA that the machine trusts for its reports; that of its template when left out.',
    }),
  ),
  default_password: Type.Optional(
    Type.String({
      'x-secret': true,
      minLength: 8,
      description:
        'For os_password where a request gives none. Unset: one is made for each installation, and shown once.',
    }),
  ),
  verify_most_mib: Type.Integer({
    default: 1024,
    minimum: 0,
    description: 'Images up to this size are read back from the KVM and compared before they are connected.',
  }),
  poll_ms: Type.Integer({ default: 5000, minimum: 10, description: 'How often a job asks a KVM, or a node for SSH.' }),
  off_seconds: Type.Number({
    default: 120,
    exclusiveMinimum: 0,
    description: 'How long an operating system may take to shut down before the power is cut.',
  }),
  ssh_port: Type.Integer({ default: 22, minimum: 1, maximum: 65535, description: 'Port of SSH on installed nodes.' }),
}
