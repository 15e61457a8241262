// BIOS settings and firmware of a machine through its BMC (Part 2, 4.6).
import { type Static, Type } from 'typebox'
import { Closed, MAX_INT64, Nullable, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import { BMC_ERRORS, BmcCallFields, exampleCorrelation, Extension, FollowFields, VendorBmcRequest } from './requests.ts'

const AnyValue = Type.Unsafe<string | number | boolean | null>({
  type: ['string', 'number', 'boolean', 'null'],
  minimum: -MAX_INT64,
  maximum: MAX_INT64,
  maxLength: 4096,
})
const Attributes = Type.Record(Type.String({ maxLength: 255 }), AnyValue)

export const BiosOption = Type.Object(
  {
    key: Type.String({ description: 'Name of the attribute, as bios/patch takes it.' }),
    attribute_name: Type.String({ description: 'Name for people.' }),
    current_value: Type.Unsafe<string | number | boolean | null>({
      type: ['string', 'number', 'boolean', 'null'],
      description: 'In the type that the BMC uses. Passwords are always empty.',
    }),
    pending_value: Type.Unsafe<string | number | boolean | null>({
      type: ['string', 'number', 'boolean', 'null'],
      ...Extension,
      description: 'Waits for the next restart; null when there is none.',
    }),
    description: Type.String(),
    allowed_values: Type.Array(Type.String(), { description: 'Empty: free input.' }),
    type: Type.String({ ...Extension, description: 'Enumeration, Integer, Boolean, String, Password or unknown.' }),
    read_only: Type.Boolean({ ...Extension, description: 'Cannot be changed now.' }),
    lower_bound: Nullable(Type.Number({ ...Extension, description: 'Least number.' })),
    upper_bound: Nullable(Type.Number({ ...Extension, description: 'Greatest number.' })),
    menu_path: Type.String({ ...Extension, description: 'Where the set-up screens have it; may be empty.' }),
  },
  { title: 'BiosOption' },
)
export type BiosOption = Static<typeof BiosOption>

export const BiosView = Type.Object(
  {
    bios_options: Type.Array(BiosOption),
    bios_settings: Type.Record(Type.String(), AnyValue, { description: 'Current values, as the BMC has them.' }),
    registry: Nullable(
      Type.String({
        ...Extension,
        description:
          'Attribute registry that the options come from; null: the BMC has none, so allowed values are not known.',
      }),
    ),
  },
  { title: 'BiosView' },
)
export type BiosView = Static<typeof BiosView>

export const FirmwareUpdate = Type.Object(
  {
    message: Type.String(),
    status: OneOf(['accepted', 'completed', 'completed_needs_reset', 'unverified']),
    job_id: Type.String({ description: 'Id of the task or job on the BMC; that of our own job where it names none.' }),
    task_uri: Nullable(Type.String({ description: 'Where the BMC reports it.' })),
    ...FollowFields,
  },
  { title: 'FirmwareUpdate' },
)

export const bmcBios = defineArea({
  name: 'bmc-bios',
  description: 'BIOS settings and firmware of machines through their BMCs.',
  routes: {
    bmcBiosGet: {
      method: 'POST',
      path: '/vendora-inventory/bios',
      summary: 'Read BIOS settings',
      access: 'viewer',
      effect: 'read',
      body: Closed(
        {
          ...BmcCallFields,
          include_hidden: Type.Optional(
            Type.Boolean({ ...Extension, description: 'List options that the registry hides, too.' }),
          ),
        },
        { title: 'BmcBiosRequest' },
      ),
      ok: { 200: BiosView },
      errors: [...BMC_ERRORS, 422],
      example: {
        body: { bmc_ip: '10.1.0.21' },
        answer: {
          bios_options: [
            {
              key: 'ProcVirtualization',
              attribute_name: 'Virtualization Technology',
              current_value: 'Enabled',
              pending_value: null,
              description: 'Hardware support of virtual machines.',
              allowed_values: ['Enabled', 'Disabled'],
              type: 'Enumeration',
              read_only: false,
              lower_bound: null,
              upper_bound: null,
              menu_path: './ProcSettings',
            },
          ],
          bios_settings: { ProcVirtualization: 'Enabled' },
          registry: 'BiosAttributeRegistry.v1_2_0',
        },
      },
    },
    bmcBiosSet: {
      method: 'POST',
      path: '/vendora-inventory/bios/patch',
      summary: 'Change BIOS settings',
      description:
        'All values are checked first, and refused together with a reason each. The change waits on the BMC for the next restart; our job follows it until the values are in force. 409 while another change of the BIOS waits: restart the machine, or delete the jobs of the BMC.',
      access: 'admin',
      body: Closed(
        {
          ...BmcCallFields,
          attributes: Type.Record(Type.String({ minLength: 1, maxLength: 255 }), AnyValue, {
            minProperties: 1,
            maxProperties: 500,
            description: 'New values by key.',
          }),
        },
        { title: 'BmcBiosChange' },
      ),
      ok: {
        200: Type.Object(
          {
            attributes: Attributes,
            job_id: Type.String({
              description:
                'Id of the job or task on the BMC, else that of our own job. Empty when all values are in force already.',
            }),
            message: Type.String(),
            ...FollowFields,
          },
          { title: 'BmcBiosChanged' },
        ),
      },
      errors: [...BMC_ERRORS, 409, 422],
      event: { resource_type: 'BMC' },
      example: {
        body: { bmc_ip: '10.1.0.21', attributes: { ProcVirtualization: 'Enabled' } },
        answer: {
          attributes: { ProcVirtualization: 'Enabled' },
          job_id: 'JID_732000000001',
          message: '1 BIOS setting of 10.1.0.21 is pending; restart the machine to apply it.',
          correlation_id: exampleCorrelation,
        },
      },
    },
    bmcBiosPendingGet: {
      method: 'POST',
      path: '/vendora-inventory/bios/pending',
      summary: 'Read pending BIOS settings',
      description: 'What waits for the next restart and differs from what is in force.',
      access: 'viewer',
      effect: 'read',
      body: VendorBmcRequest,
      ok: { 200: Type.Object({ attributes: Attributes }, { title: 'BmcBiosPending' }) },
      errors: [...BMC_ERRORS, 422],
      example: { body: { bmc_ip: '10.1.0.21' }, answer: { attributes: { BootMode: 'Uefi' } } },
    },
    bmcFirmwareUpdate: {
      method: 'POST',
      path: '/vendora-inventory/bios/update',
      summary: 'Update firmware of machine',
      description:
        'The BMC fetches the image itself (SimpleUpdate). Answers when it has accepted; our job follows it, also while the BMC restarts.',
      access: 'admin',
      body: Closed(
        {
          ...BmcCallFields,
          image_uri: Type.String({
            minLength: 8,
            maxLength: 1024,
            description: 'http or https, without credentials. Some BMCs refuse addresses with ? or &.',
          }),
          targets: Type.Optional(
            Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
              maxItems: 16,
              ...Extension,
              description: 'Paths of the firmware to replace; the BMC decides by the image when left out.',
            }),
          ),
          apply_time: Type.Optional(
            OneOf(['Immediate', 'OnReset'], {
              ...Extension,
              description: 'OnReset by default, so that nothing restarts unasked; where the BMC takes it.',
            }),
          ),
        },
        { title: 'BmcFirmwareUpdate' },
      ),
      ok: { 200: FirmwareUpdate },
      errors: [...BMC_ERRORS, 409, 422],
      event: { resource_type: 'BMC' },
      example: {
        body: { bmc_ip: '10.1.0.21', image_uri: 'http://10.0.0.5/firmware/bios-2.1.exe' },
        answer: {
          message: 'The BMC 10.1.0.21 has accepted the update.',
          status: 'accepted',
          job_id: 'JID_732000000002',
          task_uri: '/redfish/v1/TaskService/Tasks/JID_732000000002',
          correlation_id: exampleCorrelation,
        },
      },
    },
  },
})
