// Inventory, virtual media and the job queue of a machine’s BMC (Part 2, 4.6).
import { type Static, type TProperties, Type } from 'typebox'
import { Closed, Nullable, NullableText, OneOf, Time } from '../common.ts'
import { defineArea } from '../route.ts'
import { BMC_ERRORS, BmcCallFields, exampleCorrelation, Extension, FollowFields } from './requests.ts'

const Num = Nullable(Type.Number())
const Text = NullableText()

/** One part of an inventory: a branch that cannot be read loses nothing of the others. */
function Branch<P extends TProperties>(fields: P) {
  return Type.Array(Type.Object({ id: Type.String(), ...fields }))
}

export const BmcInventory = Type.Object(
  {
    bmc_ip: Type.String(),
    collected_at: Time,
    complete: Type.Boolean({ description: 'False: a branch could not be read; see branches.' }),
    branches: Type.Array(
      Type.Object({
        name: Type.String(),
        status: OneOf(['ok', 'absent', 'unavailable'], { description: 'absent: this BMC does not have it.' }),
        reason: Text,
      }),
    ),
    changes: Type.Array(Type.String(), { description: 'What differs from the collection before, one sentence each.' }),
    system: Type.Object({
      manufacturer: Text, model: Text, serial: Text, sku: Text, uuid: Text, part_number: Text, asset_tag: Text,
      bios_version: Text, host_name: Text, power_state: Text, boot_mode: Text, health: Text, indicator: Text,
    }),
    cpu: Branch({
      model: Text, manufacturer: Text, architecture: Text, socket: Text, cores: Num, threads: Num, max_mhz: Num, microcode: Text, health: Text,
    }),
    gpu: Branch({ model: Text, manufacturer: Text, uuid: Text, firmware: Text, health: Text }),
    memory: Type.Object({
      total_gib: Num,
      dimms: Branch({
        slot: Text, size_mib: Num, type: Text, speed_mhz: Num, manufacturer: Text, part_number: Text, serial: Text, health: Text,
      }),
    }),
    drives: Branch({
      name: Text, model: Text, manufacturer: Text, serial: Text, wwn: Text, size_bytes: Num, media_type: Text, protocol: Text,
      speed_gbps: Num, failure_predicted: Nullable(Type.Boolean()), life_left_percent: Num, encryption: Text, location: Text, controller: Text, health: Text,
    }),
    volumes: Branch({ name: Text, raid_type: Text, size_bytes: Num, drives: Type.Array(Type.String()) }),
    nics: Branch({
      name: Text, mac: Text, permanent_mac: Text, speed_mbps: Num, link: Text,
      virtual: Type.Boolean({ description: 'A VLAN, or the link between host and BMC: never used to recognise the machine.' }),
    }),
    psu: Branch({ name: Text, model: Text, serial: Text, watts: Num, input_state: Text, health: Text }),
    firmware: Branch({ name: Text, version: Text, updateable: Nullable(Type.Boolean()) }),
    manager: Type.Object({
      model: Text, firmware: Text, mac: Text, time: Text,
      drift_seconds: Nullable(Type.Number({ description: 'Its clock less ours; above 60 job and certificate times mislead.' })),
    }),
    capabilities: Type.Object({
      dialect: OneOf(['generic', 'vendora-8', 'vendora-9', 'vendora-10']),
      reset_types: Type.Array(Type.String()),
      media_slots: Type.Array(Type.String()),
      apply_times: Type.Array(Type.String()),
      job_source: OneOf(['oem', 'jobs', 'tasks', 'none']),
      sessions: Type.Boolean(),
      event_stream: Type.Boolean(),
    }),
  },
  { title: 'BmcInventory' },
) // biome-ignore format: tables of fields
export type BmcInventory = Static<typeof BmcInventory>

const RemoteJob = Type.Object(
  {
    id: Type.String(),
    name: Text,
    state: Text,
    percent: Num,
    message: Text,
    start_time: Text,
  },
  { title: 'BmcRemoteJob' },
)
export type RemoteJob = Static<typeof RemoteJob>

export const bmcMachine = defineArea({
  name: 'bmc-machine',
  description: 'Inventory, virtual media and job queue of machines through their BMCs.',
  routes: {
    bmcInventoryCollect: {
      method: 'POST',
      path: '/vendora-inventory/collect',
      summary: 'Collect hardware inventory',
      description:
        'Reads everything the BMC tells of the machine, and stores it. Each part has its own status: one that cannot be read loses nothing of the others. Fields that are not known are null.',
      access: 'admin',
      body: Closed(BmcCallFields, { title: 'BmcCollect' }),
      ok: { 200: BmcInventory },
      errors: BMC_ERRORS,
      event: { resource_type: 'BMC' },
      timeout_ms: 150_000,
      example: { body: { bmc_ip: '10.1.0.21' } },
    },
    bmcIsoMount: {
      method: 'POST',
      path: '/vendora-inventory/iso/mount',
      summary: 'Boot machine from ISO image',
      description:
        'Mounts a file of `bmc.iso_dir` as virtual media, sets it as boot device for one boot, and restarts the machine. The BMC fetches the file from control_node_ip under an address that is good for this one operation. Answers when the machine starts from it, or after a minute; the job goes on.',
      access: 'admin',
      body: Closed(
        {
          ...BmcCallFields,
          control_node_ip: Type.String({
            minLength: 2,
            maxLength: 45,
            description:
              'Address of this service that the BMC reaches: one of its own, of a management node, or of `bmc.image_addresses`.',
          }),
          iso_file: Type.String({
            minLength: 5,
            maxLength: 128,
            pattern: '^[A-Za-z0-9_][A-Za-z0-9_.+-]*\\.(iso|img)$',
            description: 'Name of a file in `bmc.iso_dir`, without folders.',
          }),
        },
        { title: 'BmcIsoMount' },
      ),
      ok: {
        200: Type.Object(
          {
            message: Type.String(),
            status: OneOf(['accepted', 'completed', 'unverified']),
            steps: Type.Array(Type.String(), { description: 'What was done, one sentence a step.' }),
            ...FollowFields,
          },
          { title: 'BmcIsoMounted' },
        ),
      },
      errors: [...BMC_ERRORS, 409, 422],
      event: { resource_type: 'BMC' },
      example: {
        body: { bmc_ip: '10.1.0.21', control_node_ip: '10.0.0.5', iso_file: 'debian-12.iso' },
        answer: {
          message: 'The machine of 10.1.0.21 starts from debian-12.iso.',
          status: 'completed',
          steps: ['Insert the image: done'],
          correlation_id: exampleCorrelation,
        },
      },
    },
    bmcJobsList: {
      method: 'POST',
      path: '/vendora-inventory/jobs/list',
      summary: 'List newest jobs of BMC',
      access: 'viewer',
      effect: 'read',
      body: Closed(
        {
          ...BmcCallFields,
          detail: Type.Optional(Type.Boolean({ ...Extension, description: 'Add what the BMC says of each.' })),
        },
        { title: 'BmcJobsRequest' },
      ),
      ok: {
        200: Type.Object(
          {
            jobs: Type.Array(Type.String(), {
              maxItems: 5,
              description: 'Up to 5 newest ids, newest first: by the number in the id.',
            }),
            details: Type.Optional(Type.Array(RemoteJob, { ...Extension, maxItems: 5 })),
          },
          { title: 'BmcJobs' },
        ),
      },
      errors: [...BMC_ERRORS, 422],
      example: { body: { bmc_ip: '10.1.0.21' }, answer: { jobs: ['JID_732000000002', 'JID_732000000001'] } },
    },
    bmcJobsDelete: {
      method: 'POST',
      path: '/vendora-inventory/jobs/deleteall',
      summary: 'Delete all jobs of BMC',
      description:
        'Pending BIOS settings are discarded with their job. 409 while a firmware job runs, unless force. With force, what is left is removed by restarting services of the BMC, which then answers in halves for minutes; the job waits until it is ready.',
      access: 'admin',
      body: Closed(
        {
          ...BmcCallFields,
          force: Type.Optional(
            Type.Boolean({ ...Extension, description: 'Also running jobs, and those that resist.' }),
          ),
        },
        { title: 'BmcJobsDelete' },
      ),
      ok: {
        200: Type.Object(
          {
            message: Type.String(),
            status: OneOf(['completed', 'partial', 'accepted']),
            remaining: Type.Array(Type.String(), { ...Extension, description: 'Ids that are still there.' }),
            ...FollowFields,
          },
          { title: 'BmcJobsDeleted' },
        ),
      },
      errors: [...BMC_ERRORS, 409, 422],
      event: { resource_type: 'BMC' },
      example: {
        body: { bmc_ip: '10.1.0.21' },
        answer: {
          message: 'All 3 jobs of 10.1.0.21 are deleted.',
          status: 'completed',
          remaining: [],
          correlation_id: exampleCorrelation,
        },
      },
    },
    bootImageGet: {
      method: 'GET',
      path: '/boot/{capability}/{file}',
      summary: 'Fetch boot image',
      description:
        'For BMCs, which cannot authenticate: the path names a secret of one operation and ends with it. What was fetched, and by whom, is evidence of that operation.',
      access: 'callback',
      kind: 'bytes',
      params: Type.Object({
        capability: Type.String({ maxLength: 64, 'x-secret': true }),
        file: Type.String({ maxLength: 128 }),
      }),
      ok: {
        200: Type.String({ contentMediaType: 'application/octet-stream' }),
        206: Type.String({ contentMediaType: 'application/octet-stream' }),
      },
      errors: [401, 416, 500],
      extension: true,
      example: { params: { capability: 'n0t-a-real-capability', file: 'debian-12.iso' } },
    },
  },
})
