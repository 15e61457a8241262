// SSH keys that virtual machines are made with (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  Closed, DestructionPlan, Done, Id, ListOf, Nullable, NullableText, OptionalId, PageFields, Words,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'
import { NewOwnerFields, OwnedFields } from './owner.ts'
import { vmExample } from './virtual-machine.ts'

const keyFields = {
  id: Type.String(),
  name: Type.String({ description: 'Unique within its account; `key_pairs` of a new virtual machine names it.' }),
  fingerprint: NullableText('MD5 of the public key, as ssh-keygen -E md5 -l prints it.'),
  ...OwnedFields,
}
export const SshKey = Type.Object(keyFields, { title: 'SshKey' })
export type SshKey = Static<typeof SshKey>

const NewSshKey = Type.Object(
  {
    ...keyFields,
    public_key: Type.String({ description: 'A line of authorised keys.' }),
    private_key: Nullable(
      Type.String({
        'x-secret': true,
        description: 'The file for ssh. It is shown this once and stored nowhere; null where the public key was given.',
      }),
    ),
  },
  { title: 'NewSshKey' },
)

const keyExample: SshKey = {
  id: 'b7e2d3c4-1111-4222-8333-444455556666', name: 'deploy', fingerprint: '43:51:43:a1:b5:fc:8b:b7:0a:3a:a9:b1:0f:66:73:a8',
  tenant_id: vmExample.tenant_id, tenant_name: 'acme', account: 'acme', project_id: null,
} // biome-ignore format: one record
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDSNBOrPp7cQ9X3mDkzZzcYFq2Rk3S2uVt0T1mD0cY2x deploy'

const change = {
  method: 'POST', access: 'operator', tenant: 'own', extension: true, event: { resource_type: 'SSH_KEY' }, errors: [400, 500],
} as const // biome-ignore format: one record

export const sshKeys = defineArea({
  name: 'ssh-keys',
  description: 'SSH keys that virtual machines are made with.',
  routes: {
    sshKeyList: {
      method: 'POST',
      path: '/compute/ssh-keys/list',
      summary: 'List SSH keys',
      description: 'Every filter narrows.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      extension: true,
      body: Closed({
        id: OptionalId,
        name: Words('Exact name.'),
        fingerprint: Words('MD5 of the public key, in hexadecimal with colons.'),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('ssh_keys', SshKey, 'SshKeyPage') },
      errors: [400, 500],
      example: { body: {}, answer: { ssh_keys: [keyExample], count: 1, page: 1, page_size: 50 } },
    },
    sshKeyCreate: {
      ...change,
      path: '/compute/ssh-keys/create',
      summary: 'Create or import SSH key',
      description:
        'With `public_key` it is imported; without, a pair of Ed25519 is made here, and its private key shown in this answer alone.',
      body: Closed({
        name: Type.String({ minLength: 1, maxLength: 255 }),
        public_key: Type.Optional(
          Type.String({
            maxLength: 5120,
            pattern: '^(ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]{16,}={0,2}( [^\\r\\n]*)?$',
            description: 'A line of authorised keys.',
          }),
        ),
        ...NewOwnerFields,
      }),
      ok: { 200: NewSshKey },
      example: {
        body: { name: keyExample.name, public_key: PUBLIC_KEY },
        answer: { ...keyExample, public_key: PUBLIC_KEY, private_key: null },
      },
    },
    sshKeyDelete: {
      ...change,
      path: '/compute/ssh-keys/delete',
      summary: 'Delete SSH key',
      description: 'Machines that were made with it keep it.',
      body: Closed({ ssh_key_id: Id }),
      dry_run: true,
      ok: { 200: Type.Union([Done, DestructionPlan]) },
      example: { body: { ssh_key_id: keyExample.id }, answer: { message: 'Deleted SSH key deploy.' } },
    },
  },
})
