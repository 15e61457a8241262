// What a virtual machine is given beyond disks and NICs: affinity groups, user data, a console, its firmware (Part 3, 4.1).
import { type Static, Type } from 'typebox'
import { ActionAccepted, Closed, Id, Nullable, NullableText, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import { VirtualMachine, vmExample } from './virtual-machine.ts'

export const VmWithAffinity = Type.Object(
  {
    ...VirtualMachine.properties,
    affinity_groups: Type.Array(Type.Object({ id: Type.String(), name: NullableText() })),
  },
  { title: 'VmWithAffinity' },
)

export const VmConsole = Type.Object(
  {
    virtual_machine_id: Type.String(),
    url: Nullable(Type.String({ description: 'Page with the console; it opens once and for a short time.' })),
    websocket: Nullable(
      Type.Object({
        host: Type.String(),
        port: Type.Integer(),
        path: Type.String(),
        token: Type.String({ description: 'Secret of this one connection.' }),
        extra: NullableText('The token of the request, which the viewer must show.'),
      }),
    ),
  },
  { title: 'VmConsole' },
)
export type VmConsole = Static<typeof VmConsole>

export const TPM_MODELS = ['tpm-tis', 'tpm-crb'] as const
export const TPM_VERSIONS = ['1.2', '2.0'] as const

export const VmFirmware = Type.Object(
  {
    virtual_machine_id: Type.String(),
    boot_type: OneOf(['BIOS', 'UEFI'], { description: 'Firmware of the next start.' }),
    secure_boot: Type.Boolean({ description: 'Whether only signed systems start.' }),
    tpm_model: NullableText('Null: there is no TPM.'),
    tpm_version: NullableText('Null: there is no TPM.'),
    message: Type.String(),
  },
  { title: 'VmFirmware' },
)
export type VmFirmware = Static<typeof VmFirmware>

export const TpmConfigure = Closed(
  {
    virtual_machine_id: Id,
    boot_type: Type.Optional(OneOf(['BIOS', 'UEFI'], { description: 'Firmware; as it is when left out.' })),
    secure_boot: Type.Optional(
      Type.Boolean({ description: 'Start signed systems only; needs UEFI. False with boot_type UEFI when left out.' }),
    ),
    tpm_model: Type.Optional(
      OneOf(['', ...TPM_MODELS], {
        description: 'Model of the virtual TPM; empty removes it; as it is when left out.',
      }),
    ),
    tpm_version: Type.Optional(
      OneOf([...TPM_VERSIONS], {
        description: 'Version of the virtual TPM, 2.0 by default; tpm-crb exists as 2.0 only.',
      }),
    ),
  },
  { title: 'TpmConfigure' },
)
export type TpmConfigure = Static<typeof TpmConfigure>

const id = vmExample.id
const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const change = {
  method: 'POST', access: 'operator', tenant: 'own', event: { resource_type: 'VM' }, errors: [400, 500],
} as const // biome-ignore format: one record

export const vmGuests = defineArea({
  name: 'vm-guests',
  description: 'Affinity groups, user data, console and firmware of virtual machines.',
  routes: {
    vmAffinityUpdate: {
      ...change,
      path: '/compute/vms/update-affinity',
      summary: 'Set affinity groups of virtual machine',
      description: 'The machine must be Stopped. The list is the whole new set; an empty one clears it.',
      body: Closed({
        virtual_machine_id: Id,
        affinity_group_ids: Type.Array(Id, { maxItems: 32, uniqueItems: true, description: 'The whole new set.' }),
      }),
      ok: { 200: Type.Union([ActionAccepted, VmWithAffinity]) },
      example: {
        body: { virtual_machine_id: id, affinity_group_ids: [] },
        answer: {
          job_id,
          correlation_id: job_id,
          status: 'IN_PROGRESS',
          resource_id: id,
          message: 'Changing the affinity groups of virtual machine web-41.',
        },
      },
    },
    vmUserDataReset: {
      ...change,
      path: '/compute/vms/userdata/reset',
      summary: 'Reset user data of virtual machine',
      description: 'The machine must be Stopped. Give user_data or user_data_id; the guest reads it at its next start.',
      body: Closed({
        virtual_machine_id: Id,
        user_data: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 1_400_000,
            contentEncoding: 'base64',
            pattern: '^[A-Za-z0-9+/]+={0,2}$',
            description: 'Cloud-init data in Base64.',
          }),
        ),
        user_data_id: Type.Optional(Id),
        user_data_details: Type.Optional(
          Type.Record(Type.String({ pattern: '^[A-Za-z0-9._-]{1,255}$' }), Type.String({ maxLength: 4096 }), {
            description: 'Values of the variables that registered user data declares.',
          }),
        ),
      }),
      ok: { 200: VirtualMachine },
      example: {
        body: { virtual_machine_id: id, user_data: 'I2Nsb3VkLWNvbmZpZwo=' },
        answer: { ...vmExample, state: 'Stopped', host_id: null, host_name: null },
      },
    },
    vmConsoleCreate: {
      ...change,
      path: '/compute/vms/create-console',
      summary: 'Create console of virtual machine',
      description: 'The machine must be Running. The answer carries the secret of one connection.',
      body: Closed({
        virtual_machine_id: Id,
        token: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 128,
            pattern: '^[A-Za-z0-9._-]+$',
            description: 'Word that the viewer must show as well.',
          }),
        ),
      }),
      ok: { 200: VmConsole },
      example: {
        body: { virtual_machine_id: id },
        answer: {
          virtual_machine_id: id,
          url: 'https://console.example.net/resource/noVNC/vnc.html?token=AbC',
          websocket: { host: 'console.example.net', port: 8080, path: 'websockify', token: 'AbC', extra: null },
        },
      },
    },
    vmScreenOpen: {
      method: 'GET',
      path: '/compute/vms/{virtual_machine_id}/screen',
      kind: 'ws',
      effect: 'change',
      access: 'operator',
      tenant: 'own',
      extension: true,
      event: { resource_type: 'VM' },
      summary: 'Open screen of virtual machine',
      description:
        'RFB (VNC) in binary messages, without further authentication: the service opens a console of the platform and passes it on. The machine must be Running. The connection ends with the machine, and with the session or token that opened it.',
      params: Closed({ virtual_machine_id: Id }),
      ok: { 101: Type.Unknown({ description: 'Switched to WebSocket.' }) },
      errors: [400, 500],
      example: { params: { virtual_machine_id: id } },
    },
    vmTpmConfigure: {
      ...change,
      path: '/compute/vms/configure-tpm',
      summary: 'Configure firmware and TPM of virtual machine',
      description:
        'The machine must be Stopped; the change takes effect at its next start. All other details of the machine stay as they are.',
      body: TpmConfigure,
      ok: { 200: VmFirmware },
      example: {
        body: { virtual_machine_id: id, boot_type: 'UEFI', secure_boot: true, tpm_model: 'tpm-crb' },
        answer: {
          virtual_machine_id: id,
          boot_type: 'UEFI',
          secure_boot: true,
          tpm_model: 'tpm-crb',
          tpm_version: '2.0',
          message: 'Takes effect at the next start.',
        },
      },
    },
  },
})
