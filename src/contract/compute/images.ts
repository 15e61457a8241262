// Templates and ISO images: registered from a URL that the platform downloads, renamed, deleted (extension of Part 3, 4.1).
import { type Static, Type } from 'typebox'
import {
  ActionAccepted, Closed, DestructionPlan, Flag, Id, KnownText, Nullable, NullableFlag, NullableInteger, NullableText, NullableTime, OneOf, Words,
} from '../common.ts' // biome-ignore format: one import
import { defineArea } from '../route.ts'
import { NewOwnerFields, OwnedFields } from './owner.ts'
import { vmExample } from './virtual-machine.ts'

export const IMAGE_STATES = ['downloading', 'ready', 'failed'] as const

/** What the lists show of each image, one row a zone. */
const imageFields = {
  id: Type.String(),
  name: Type.String(),
  display_text: NullableText(),
  is_ready: NullableFlag('Whether it can be used now.'),
  is_public: NullableFlag('Whether every tenant may use it.'),
  is_featured: NullableFlag('Whether it is offered first.'),
  bootable: NullableFlag('Whether a machine can start from it.'),
  os_type_id: NullableText(),
  os_type_name: NullableText(),
  hypervisor: NullableText(),
  format: NullableText(),
  arch: NullableText(),
  size_bytes: NullableInteger('Size of the image when it is unpacked; null until it is downloaded.'),
  zone_id: NullableText(),
  zone_name: NullableText(),
  state: KnownText(IMAGE_STATES, 'How far the platform is with its download.'),
  percent: Nullable(
    Type.Integer({ minimum: 0, maximum: 100, description: 'Of the download; null where the platform does not say.' }),
  ),
  status: NullableText('What the platform says about the download; the cause where it failed.'),
  ...OwnedFields,
  created_at: NullableTime,
}
export const Template = Type.Object(
  { ...imageFields, password_enabled: NullableFlag('Whether a password is set at first boot.') },
  { title: 'Template' },
)
export type Template = Static<typeof Template>
export const IsoImage = Type.Object(imageFields, { title: 'IsoImage' })
export type IsoImage = Static<typeof IsoImage>

const isoExample: IsoImage = {
  id: 'c0ffee00-1234-4abc-8def-001122334455', name: 'debian-13-netinst', display_text: 'Debian 13 network installer', is_ready: false,
  is_public: false, is_featured: false, bootable: true, os_type_id: 'f6a0e2d4-5c1b-4e0f-9a57-d1c2b3a40516', os_type_name: 'Debian GNU/Linux 13 (64-bit)',
  hypervisor: null, format: 'ISO', arch: 'x86_64', size_bytes: null, zone_id: vmExample.zone_id, zone_name: vmExample.zone_name,
  state: 'downloading', percent: 0, status: '0% Downloaded', tenant_id: vmExample.tenant_id, tenant_name: 'acme', account: 'acme',
  project_id: null, created_at: '2026-11-20T04:00:00.000Z',
} // biome-ignore format: one record
const templateExample: Template = {
  ...isoExample, id: 'd0ffee00-1234-4abc-8def-001122334455', name: 'debian-13', display_text: 'Debian 13 cloud image', hypervisor: 'KVM',
  format: 'QCOW2', password_enabled: false,
} // biome-ignore format: one record
const job_id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const accepted = { job_id, correlation_id: job_id, status: 'IN_PROGRESS' } as const

const newImage = {
  name: Type.String({ minLength: 1, maxLength: 255, description: 'Need not be unique.' }),
  display_text: Words('One line for people; the name when left out.'),
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    description:
      'Where the platform downloads it, by HTTP or HTTPS; without user and password, and not at an address of the platform’s machines themselves.',
  }),
  zone_id: Id,
  checksum: Type.Optional(
    Type.String({
      pattern: '^(\\{(MD5|SHA-1|SHA-224|SHA-256|SHA-384|SHA-512)\\})?[0-9a-fA-F]{32,128}$',
      description: 'Compared after the download: `{SHA-256}` and the digits; MD5 without a prefix.',
    }),
  ),
  is_public: Flag('Let every tenant use it; not for tenant-scoped callers.'),
  ...NewOwnerFields,
}
const changed = {
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  display_text: Words('One line for people.'),
}
const URL = 'https://images.example.com/debian-13-amd64'

const base = { method: 'POST', access: 'operator', tenant: 'own', extension: true, errors: [400, 500] } as const
const template = { ...base, event: { resource_type: 'TEMPLATE' } } as const
const iso = { ...base, event: { resource_type: 'ISO' } } as const
const DOWNLOAD =
  'Answers as soon as the platform begins to download; `state` and `percent` of the list follow it. A download that failed is deleted and registered again.'
const DELETE =
  'No virtual machine may use it; the answer names those that do. With dry_run nothing is deleted, and the answer says what would be.'

export const images = defineArea({
  name: 'images',
  description: 'Templates and ISO images: registered from a URL, renamed, deleted.',
  routes: {
    templateRegister: {
      ...template,
      path: '/catalog/templates/register',
      summary: 'Register template from URL',
      description: DOWNLOAD,
      body: Closed({
        ...newImage,
        os_type_id: Id,
        format: Type.Optional(
          OneOf(['QCOW2', 'RAW', 'VHD', 'VHDX', 'VMDK', 'OVA'], { description: 'QCOW2 when left out.' }),
        ),
        hypervisor: Type.Optional(
          OneOf(['KVM', 'XenServer', 'VMware', 'Simulator'], { description: 'KVM when left out.' }),
        ),
        password_enabled: Flag('Its machines get a password at first boot.'),
        ssh_key_enabled: Flag('Its machines take new SSH keys.'),
        requires_hvm: Flag('Needs hardware virtualisation; true when left out.'),
        dynamically_scalable: Flag('Running machines of it may grow.'),
      }),
      ok: { 200: Template },
      example: {
        body: {
          name: templateExample.name, url: `${URL}.qcow2`, zone_id: vmExample.zone_id, os_type_id: templateExample.os_type_id,
        }, // biome-ignore format: one record
        answer: templateExample,
      },
    },
    templateUpdate: {
      ...template,
      path: '/catalog/templates/update',
      summary: 'Rename template',
      description: 'Its machines stay as they are.',
      body: Closed({ template_id: Id, ...changed }),
      ok: { 200: Template },
      example: { body: { template_id: templateExample.id, name: 'debian-13' }, answer: templateExample },
    },
    templateDelete: {
      ...template,
      path: '/catalog/templates/delete',
      summary: 'Delete template',
      description: DELETE,
      dry_run: true,
      body: Closed({ template_id: Id }),
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        body: { template_id: templateExample.id },
        answer: { ...accepted, resource_id: templateExample.id, message: 'Deleting template debian-13.' },
      },
    },
    isoRegister: {
      ...iso,
      path: '/catalog/isos/register',
      summary: 'Register ISO image from URL',
      description: DOWNLOAD,
      body: Closed({
        ...newImage,
        os_type_id: Type.Optional(
          Type.String({ minLength: 1, maxLength: 128, description: 'Needed unless `bootable` is false.' }),
        ),
        bootable: Flag('Machines can start from it; true when left out.'),
      }),
      ok: { 200: IsoImage },
      example: {
        body: {
          name: isoExample.name, url: `${URL}-netinst.iso`, zone_id: vmExample.zone_id, os_type_id: isoExample.os_type_id,
        }, // biome-ignore format: one record
        answer: isoExample,
      },
    },
    isoUpdate: {
      ...iso,
      path: '/catalog/isos/update',
      summary: 'Rename ISO image',
      body: Closed({ iso_id: Id, ...changed }),
      ok: { 200: IsoImage },
      example: { body: { iso_id: isoExample.id, name: 'debian-13-netinst' }, answer: isoExample },
    },
    isoDelete: {
      ...iso,
      path: '/catalog/isos/delete',
      summary: 'Delete ISO image',
      description: DELETE,
      dry_run: true,
      body: Closed({ iso_id: Id }),
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      example: {
        body: { iso_id: isoExample.id },
        answer: { ...accepted, resource_id: isoExample.id, message: 'Deleting ISO image debian-13-netinst.' },
      },
    },
  },
})
