// What the compute platform can do, what it is doing, and how full it is (Part 3, 4.5).
import { type Static, Type } from 'typebox'
import {
  Closed,
  Id,
  KnownText,
  ListOf,
  Nullable,
  NullableFlag,
  NullableNumber,
  NullableText,
  NullableTime,
  OneOf,
  OptionalId,
  PageFields,
  TimeGiven,
  Words,
} from './common.ts'
import { defineArea } from './route.ts'

const ApiField = Type.Object(
  { name: Type.String(), type: NullableText(), description: NullableText() },
  { title: 'PlatformApiField' },
)

export const PlatformApi = Type.Object(
  {
    name: Type.String({ description: 'Command of the platform.' }),
    description: NullableText(),
    since: NullableText('Version that brought it.'),
    is_async: NullableFlag('Whether it runs as a job of the platform.'),
    parameters: Type.Array(
      Type.Object(
        {
          name: Type.String(),
          type: NullableText(),
          description: NullableText(),
          required: NullableFlag('Whether it must be sent.'),
          since: NullableText(),
        },
        { title: 'PlatformApiParameter' },
      ),
    ),
    answer_fields: Type.Array(ApiField),
    related: Type.Array(Type.String(), { description: 'Commands that belong to it.' }),
  },
  { title: 'PlatformApi' },
)
export type PlatformApi = Static<typeof PlatformApi>

export const PLATFORM_JOB_STATUS = ['IN_PROGRESS', 'SUCCESS', 'FAILED', 'CANCELLED'] as const
const JobStatus = OneOf([...PLATFORM_JOB_STATUS])

export const PlatformJob = Type.Object(
  {
    job_id: Type.String(),
    command: NullableText('What it runs.'),
    status: JobStatus,
    result_code: Nullable(Type.Integer({ description: '0, or the code of the platform when it failed.' })),
    resource_type: NullableText('Kind of thing it is about.'),
    resource_id: NullableText(),
    account_id: NullableText(),
    user_id: NullableText(),
    management_server_id: NullableText(),
    created_at: NullableTime,
    completed_at: NullableTime,
  },
  { title: 'PlatformJob' },
)
export type PlatformJob = Static<typeof PlatformJob>

const failure = Nullable(
  Type.Object(
    { code: Type.String({ description: 'One of the error codes of this API.' }), message: Type.String() },
    { title: 'PlatformJobFailure' },
  ),
)

export const Capabilities = Type.Object(
  {
    version: NullableText('Version of the platform; a setting may hide it.'),
    security_groups_enabled: NullableFlag('Whether a zone uses security groups.'),
    dynamic_scaling_enabled: NullableFlag('Whether running machines may grow.'),
    additional_config_enabled: NullableFlag('Whether machines may carry extra configuration.'),
    instance_lease_enabled: NullableFlag('Whether machines may have a lease.'),
    dynamic_roles_enabled: NullableFlag('Whether roles can be changed.'),
    project_invite_required: NullableFlag('Whether members of projects must accept.'),
    users_can_create_projects: NullableFlag('Whether tenants may make projects.'),
    users_can_see_all_accounts: NullableFlag('Whether tenants see all accounts of their domain.'),
    kvm_snapshot_enabled: NullableFlag('Whether disks can be copied while machines run.'),
    elastic_load_balancer_supported: NullableText(),
    custom_disk_offering_min_size_gb: NullableNumber('Least size of a disk that chooses its own.'),
    custom_disk_offering_max_size_gb: NullableNumber('Most size of a disk that chooses its own.'),
    default_page_size: NullableNumber('Rows a page of the platform’s own console.'),
    statistics_retention_minutes: NullableNumber('How long samples of machines are kept.'),
    api_limit_max: NullableNumber('Calls in an interval; null is unlimited.'),
    api_limit_interval_seconds: NullableNumber('Length of that interval.'),
  },
  { title: 'PlatformCapabilities' },
)
export type Capabilities = Static<typeof Capabilities>

export const CapacityRow = Type.Object(
  {
    type: Type.Integer({ description: 'Number of the kind.' }),
    name: NullableText('Name of the kind.'),
    unit: Nullable(KnownText(['bytes', 'MHz', 'count'], 'What the amounts are in; null for a kind not known here.')),
    zone_id: NullableText(),
    zone_name: NullableText(),
    pod_id: NullableText(),
    pod_name: NullableText(),
    cluster_id: NullableText(),
    cluster_name: NullableText(),
    used: NullableNumber('In use and reserved.'),
    allocated: NullableNumber('Promised, where the platform tells it apart.'),
    total: NullableNumber('Overcommitment included.'),
    used_percent: NullableNumber('Of the total.'),
    tag: NullableText('Host or storage tag this row is limited to; null is the whole.'),
  },
  { title: 'Capacity' },
)
export type CapacityRow = Static<typeof CapacityRow>

const read = { access: 'viewer', effect: 'read', errors: [400, 500] } as const
const job = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10',
  command: 'StartVMCmd',
  status: 'SUCCESS',
  result_code: 0,
  resource_type: 'VirtualMachine',
  resource_id: '7d1c3e7e-7a1c-4f0d-8f4a-6c1b0b7a2f01',
  account_id: null,
  user_id: null,
  management_server_id: null,
  created_at: '2026-11-20T03:12:45.000Z',
  completed_at: '2026-11-20T03:12:58.000Z',
}

export const discovery = defineArea({
  name: 'discovery',
  description: 'What the compute platform can do, what it is doing, and how full it is.',
  routes: {
    discoveryApiList: {
      ...read,
      method: 'POST',
      path: '/discovery/apis',
      summary: 'List APIs of compute platform',
      description: 'What this service’s account may call. The answer is kept for ten minutes.',
      body: Closed({ name: Words('Exact name of a command.'), keyword: Words('Part of a name.'), ...PageFields }),
      body_optional: true,
      ok: { 200: ListOf('apis', PlatformApi, 'PlatformApiPage') },
      example: { body: { name: 'startVirtualMachine' } },
    },
    discoveryAsyncJobList: {
      ...read,
      method: 'POST',
      path: '/discovery/asyncjobs',
      summary: 'List jobs of compute platform',
      description:
        'Those that wait or run; some versions of the platform list finished ones, too. How one ended is read by its id. Jobs of this API are at GET /jobs.',
      body: Closed(
        {
          status: Type.Optional(JobStatus),
          start_date: TimeGiven('Jobs made from then on.'),
          keyword: Words('Part of the command’s class.'),
          account: Words('Owner; needs domain_id.'),
          domain_id: Type.Optional(
            Type.String({ minLength: 1, maxLength: 128, description: 'Tenant, its children included.' }),
          ),
          management_server_id: OptionalId,
          ...PageFields,
        },
        { title: 'PlatformJobFilter' },
      ),
      body_optional: true,
      ok: { 200: ListOf('async_jobs', PlatformJob, 'PlatformJobPage') },
      example: { body: { status: 'IN_PROGRESS' }, answer: { async_jobs: [job], count: 1, page: 1, page_size: 50 } },
    },
    discoveryAsyncJobGet: {
      ...read,
      method: 'POST',
      path: '/discovery/asyncjobs/result',
      summary: 'Get result of job of compute platform',
      description:
        'Says how the job ended and what it was about; read the thing itself at its own route. What the platform returned is not passed on, because it may hold passwords. Ids of our own jobs that are one platform call work here too.',
      body: Closed({ job_id: Id }),
      ok: { 200: Type.Object({ ...PlatformJob.properties, failure }, { title: 'PlatformJobResult' }) },
      example: { body: { job_id: job.job_id }, answer: { ...job, failure: null } },
    },
    discoveryCapabilityGet: {
      ...read,
      method: 'GET',
      path: '/discovery/capabilities',
      summary: 'Get capabilities of compute platform',
      ok: { 200: Capabilities },
      example: {},
    },
    discoveryCapacityList: {
      ...read,
      method: 'GET',
      path: '/discovery/listCapacity',
      summary: 'List capacity of compute platform',
      description:
        '`fetch_latest` lets the platform count again, which may take minutes and asks for the operator role.',
      timeout_ms: 300_000,
      query: Type.Object({
        zone_id: OptionalId,
        pod_id: OptionalId,
        cluster_id: OptionalId,
        type: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 999,
            description: '0 memory, 1 CPU, 3 allocated storage, 4 public IPs, 19 GPUs, …',
          }),
        ),
        sort_by: Type.Optional(OneOf(['usage'], { description: 'Fullest first.' })),
        fetch_latest: Type.Optional(Type.Boolean({ description: 'Count again.' })),
        tag: Words('Host or storage tag.'),
        ...PageFields,
      }),
      ok: { 200: ListOf('capacities', CapacityRow, 'CapacityPage') },
      example: { query: { type: 4 } },
    },
  },
})
