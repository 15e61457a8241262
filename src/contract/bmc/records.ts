// Records of BMCs (extensions): which there are, how they are reached, which certificate they must show, and their credentials,
// which go in and never come out.
import { type Static, Type } from 'typebox'
import {
  Closed,
  Done,
  IpAddress,
  ListOf,
  Nullable,
  NullableText,
  NullableTime,
  OneOf,
  PageFields,
  Time,
} from '../common.ts'
import { defineArea } from '../route.ts'

export const TLS_MODES = ['pin', 'ca', 'insecure'] as const

export const BmcCertificate = Type.Object(
  {
    fingerprint: Type.String({
      description: 'SHA-256, hexadecimal with colons: compare it with the web page of the BMC.',
    }),
    subject: Type.String(),
    issuer: Type.String(),
    valid_from: Type.String(),
    valid_to: Type.String(),
    pinned_by: Type.String({ description: 'Whose request met it first, or who accepted it.' }),
    pinned_at: Time,
  },
  { title: 'BmcCertificate' },
)

export const BmcRecord = Type.Object(
  {
    bmc_ip: Type.String(),
    port: Type.Integer({ minimum: 1, maximum: 65535 }),
    username: NullableText('Null: no credentials are stored.'),
    tls_mode: OneOf([...TLS_MODES]),
    certificate: Nullable(BmcCertificate),
    system_id: NullableText('Which system is meant, where the BMC has several.'),
    node: NullableText('Name or address of the registered node with this BMC.'),
    updated_at: Time,
    inventory_at: NullableTime,
  },
  { title: 'BmcRecord' },
)
export type BmcRecord = Static<typeof BmcRecord>

const BmcTestAnswer = Type.Object(
  {
    message: Type.String(),
    dialect: OneOf(['generic', 'vendora-8', 'vendora-9', 'vendora-10']),
    vendor: NullableText('Maker of the machine.'),
    model: NullableText('Model of the machine.'),
    serial: NullableText('Serial number of the machine.'),
    manager_firmware: NullableText('Firmware of the BMC.'),
    redfish_version: NullableText('As the service root says.'),
    login: OneOf(['session', 'basic']),
    certificate: Nullable(BmcCertificate),
  },
  { title: 'BmcTest' },
)

const example: BmcRecord = {
  bmc_ip: '10.1.0.21',
  port: 443,
  username: 'root',
  tls_mode: 'pin',
  certificate: {
    fingerprint: 'AB:CD:EF',
    subject: 'CN=idrac-ABC1234',
    issuer: 'CN=idrac-ABC1234',
    valid_from: '2026-01-01T00:00:00.000Z',
    valid_to: '2036-01-01T00:00:00.000Z',
    pinned_by: 'admin',
    pinned_at: '2026-11-20T04:00:00.000Z',
  },
  system_id: null,
  node: 'bare-01',
  updated_at: '2026-11-20T04:00:00.000Z',
  inventory_at: null,
}
const BmcPath = Type.Object({ bmcIP: IpAddress })
const params = { bmcIP: '10.1.0.21' }

export const bmcRecords = defineArea({
  name: 'bmc',
  description: 'Records of BMCs: how each is reached, its pinned certificate, and its credentials.',
  routes: {
    bmcList: {
      method: 'GET',
      path: '/vendora-inventory/bmcs',
      summary: 'List BMC records',
      access: 'admin',
      query: Closed({ ...PageFields }),
      ok: { 200: ListOf('bmcs', BmcRecord, 'BmcPage') },
      errors: [400, 500],
      extension: true,
      example: { answer: { bmcs: [example], count: 1, page: 1, page_size: 50 } },
    },
    bmcGet: {
      method: 'GET',
      path: '/vendora-inventory/bmcs/{bmcIP}',
      summary: 'Show BMC record',
      access: 'admin',
      params: BmcPath,
      ok: { 200: BmcRecord },
      errors: [400, 404, 500],
      extension: true,
      example: { params, answer: example },
    },
    bmcPut: {
      method: 'PUT',
      path: '/vendora-inventory/bmcs/{bmcIP}',
      summary: 'Store BMC record',
      description:
        'Makes or replaces the record; the BMC is not contacted. The address must be in `bmc.allowed_networks`. Credentials are stored encrypted and never shown. A pinned certificate stays: see the repin call.',
      access: 'admin',
      params: BmcPath,
      body: Closed(
        {
          username: Type.String({ minLength: 1, maxLength: 255 }),
          password: Type.String({ minLength: 1, maxLength: 255, 'x-secret': true }),
          port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65535, description: '`bmc.port` when left out.' })),
          tls_mode: Type.Optional(
            OneOf([...TLS_MODES], {
              default: 'pin',
              description:
                'pin: the certificate met first must stay. ca: it must lead to `bmc.ca_file`. insecure: any, where `bmc.insecure_allowed`.',
            }),
          ),
          system_id: Type.Optional(
            Type.String({ minLength: 1, maxLength: 128, description: 'Id of the system, where the BMC has several.' }),
          ),
        },
        { title: 'PutBmc' },
      ),
      ok: { 200: BmcRecord },
      errors: [400, 500],
      event: { resource_type: 'BMC_RECORD' },
      extension: true,
      example: { params, body: { username: 'root', password: 'example-pass' }, answer: example },
    },
    bmcDelete: {
      method: 'DELETE',
      path: '/vendora-inventory/bmcs/{bmcIP}',
      summary: 'Delete BMC record',
      description: 'Forgets credentials, pinned certificate and inventories. Nothing on the machine changes.',
      access: 'admin',
      params: BmcPath,
      ok: { 200: Done },
      errors: [400, 404, 500],
      event: { resource_type: 'BMC_RECORD' },
      extension: true,
      example: { params, answer: { message: 'The record of BMC 10.1.0.21 is deleted.' } },
    },
    bmcRepin: {
      method: 'POST',
      path: '/vendora-inventory/bmcs/{bmcIP}/repin',
      summary: 'Accept new certificate of BMC',
      description:
        'Reads the certificate that the BMC shows now, without logging in, and pins it when it is the one named here.',
      access: 'admin',
      params: BmcPath,
      body: Closed(
        {
          fingerprint: Type.String({
            minLength: 64,
            maxLength: 95,
            pattern: '^[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$',
            description:
              'SHA-256 of the certificate, as the web page of the BMC or the error BMC_TLS_PIN_MISMATCH shows it.',
          }),
        },
        { title: 'RepinBmc' },
      ),
      ok: { 200: BmcRecord },
      errors: [400, 404, 409, 500],
      event: { resource_type: 'BMC_RECORD' },
      extension: true,
      example: { params, body: { fingerprint: 'AB'.repeat(32) }, answer: example },
    },
    bmcTest: {
      method: 'POST',
      path: '/vendora-inventory/bmcs/{bmcIP}/test',
      summary: 'Test connection to BMC',
      description: 'Logs in with the stored credentials and reads who answers.',
      access: 'admin',
      effect: 'read',
      params: BmcPath,
      ok: { 200: BmcTestAnswer },
      errors: [400, 401, 404, 500],
      extension: true,
      example: { params },
    },
  },
})
