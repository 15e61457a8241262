// Settings of the distributed store: the group `ceph` of the configuration.
import { Type } from 'typebox'

export const cephSettings = {
  conf: Type.Optional(
    Type.String({ description: 'Its configuration file; without it no distributed store is configured.' }),
  ),
  keyring: Type.Optional(
    Type.String({ description: 'File with the key; left out: where the configuration file says.' }),
  ),
  client: Type.String({
    default: 'admin',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
    description: 'Name of the key without "client."; it must be allowed to take daemons out of the store.',
  }),
  tool: Type.String({ default: 'ceph', minLength: 1, description: 'The program "ceph", by name or path.' }),
  timeout_ms: Type.Integer({ default: 60_000, minimum: 1000, description: 'Longest wait for one answer.' }),
}
