// The NVR as a virtual machine of this platform: its life, its template, its admin password, and the cameras we put on it.
import { type Static, Type } from 'typebox'
import { Closed, Id, IpAddress, Nullable, NullableText, OneOf, Time, Words } from '../common.ts'
import { defineArea } from '../route.ts'
import { CAM_AREA } from './area.ts'
import { CameraId, CameraParams } from './common.ts'

export const NVR_STATES = [
  'provisioning', 'configuring', 'running', 'stopped', 'restarting', 'unreachable', 'failed', 'deleting',
] as const // biome-ignore format: a list of words

export const CamInstance = Type.Object(
  {
    id: Id,
    name: Type.String(),
    state: OneOf([...NVR_STATES], { description: 'restarting: its streams are dropped for about 30 seconds.' }),
    error_message: Type.String({ description: 'Why it failed or cannot be reached; empty otherwise.' }),
    next_action: Type.String({
      description: 'What a person can do about it; empty where nothing is needed.',
      'x-extension': true,
    }),
    created_at: Time,
    camera_ip: Type.String({ description: 'Address of the first camera.' }),
    cores: Type.Integer(),
    memory_mb: Type.Integer(),
    gpu_count: Type.Integer(),
    network_id: Type.String(),
    zone_id: NullableText('Zone of the network; null until it was read.'),
    vm_id: NullableText('Chosen before the virtual machine is made; null until then.'),
    vm_ip_address: NullableText('Null until the virtual machine has one.'),
    nvr_version: NullableText('Null until the NVR answered.'),
    nvr_admin_password: Nullable(
      Type.String({ 'x-secret': true, description: 'For admins alone; null for others, and until it is set.' }),
    ),
    admin_password_acknowledged: Type.Boolean({ description: 'An operator has recorded the generated password.' }),
    job_id: Nullable(
      Type.String({
        description: 'Of the job that provisions or deletes it; null when none runs.',
        'x-extension': true,
      }),
    ),
  },
  { title: 'CamInstance' },
)
export type CamInstance = Static<typeof CamInstance>

const Accepted = Type.Object(
  {
    instance_id: Type.String(),
    message: Type.String(),
    state: OneOf([...NVR_STATES]),
    status: OneOf(['IN_PROGRESS', 'SUCCESS'], { 'x-extension': true }),
    job_id: Type.String({ description: 'Follow it with GET /jobs/{id}.', 'x-extension': true }),
    correlation_id: Type.String({ 'x-extension': true }),
  },
  { title: 'CamJobAccepted' },
)

const Secret = (description: string) => Type.String({ minLength: 1, maxLength: 256, description, 'x-secret': true })
const StreamUrl = (what: string) =>
  Type.Optional(
    Type.String({
      maxLength: 1000,
      description: `RTSP address of the ${what}; found by probing or by the vendor where empty.`,
    }),
  )
const camera = {
  camera_ip: IpAddress,
  username: Type.String({ minLength: 1, maxLength: 128, description: 'User of the camera.' }),
  password: Secret('Password of that user.'),
  main_stream_url: StreamUrl('main stream'),
  sub_stream_url: StreamUrl('sub stream'),
  audio_stream_url: StreamUrl('stream with sound'),
  camera_manufacturer: Type.Optional(
    Type.String({ maxLength: 100, description: 'For the paths of its streams where none are given.' }),
  ),
  camera_model: Type.Optional(Type.String({ maxLength: 100 })),
}
export const CamInitializeBody = Closed(
  {
    ...camera,
    network_id: Id,
    vgpu_profile_id: Type.String({ maxLength: 128, description: 'vGPU profile; empty with gpu_count 0.' }),
    cores: Type.Integer({ minimum: 1, maximum: 128 }),
    memory_mb: Type.Integer({ minimum: 1024, maximum: 1_048_576 }),
    gpu_count: Type.Integer({ minimum: 0, maximum: 8 }),
    recording_disk_gb: Type.Integer({ minimum: 1, maximum: 65_536, description: 'Size of the disk for recordings.' }),
  },
  { title: 'CamInitialize' },
)
export type CamInitializeBody = Static<typeof CamInitializeBody>

export const CameraCreateBody = Closed(
  {
    id: CameraId,
    name: Words('Name for people; the id where left out.'),
    ...camera,
  },
  { title: 'CameraCreate' },
)
export type CameraCreateBody = Static<typeof CameraCreateBody>

export const CameraProbeBody = Closed(
  { ip: IpAddress, username: camera.username, password: camera.password },
  { title: 'CameraProbe' },
)
export type CameraProbeBody = Static<typeof CameraProbeBody>

const StreamProfile = Type.Object(
  {
    codec: Type.String(),
    name: Type.String(),
    token: Type.String(),
    framerate: Type.Integer(),
    height: Type.Integer(),
    width: Type.Integer(),
    uri: Type.String({ description: 'RTSP address with user and password in it.', 'x-secret': true }),
  },
  { title: 'CameraStreamProfile' },
)
export const CameraProbeResult = Type.Object(
  {
    firmware_version: Type.String(),
    hardware_id: Type.String(),
    manufacturer: Type.String(),
    model: Type.String(),
    serial_number: Type.String(),
    main_stream_url: Type.String({ 'x-secret': true }),
    sub_stream_url: Type.String({ description: 'Empty where the camera has one profile alone.', 'x-secret': true }),
    profiles: Type.Array(StreamProfile),
  },
  { title: 'CameraProbeResult' },
)
export type CameraProbeResult = Static<typeof CameraProbeResult>

export const CamTemplate = Type.Object(
  {
    state: OneOf(['missing', 'downloading', 'ready', 'failed']),
    progress: Type.Integer({ minimum: 0, maximum: 100, description: 'While it is downloading.' }),
    message: Type.String(),
    template_id: NullableText('Null while it is missing.'),
    template_name: Type.String(),
    zone_id: NullableText('Null while it is missing.'),
  },
  { title: 'CamTemplate' },
)
export type CamTemplate = Static<typeof CamTemplate>

const PasswordState = Type.Object({ admin_password_acknowledged: Type.Boolean() }, { title: 'NvrPasswordState' })

const nvr = { resource_type: 'NVR' }
const JOB = '0193a5d2-5c7e-7a11-8a55-1f6b2f0c9d11'
const instance: CamInstance = {
  id: '0193a5d2-4b1d-7c3e-9f00-5d2c8e1f0a77', name: 'nvr', state: 'running', error_message: '', next_action: '', created_at: '2026-11-20T03:12:45.120Z',
  camera_ip: '10.20.0.31', cores: 4, memory_mb: 8192, gpu_count: 0, network_id: '5f0c3a1e-9b7d-4a64-8f2e-1d6c0b9a8e77', zone_id: '1', vm_id: '2',
  vm_ip_address: '10.20.0.40', nvr_version: '0.17.2', nvr_admin_password: null, admin_password_acknowledged: true, job_id: null,
} // biome-ignore format: one record
const accepted = { instance_id: instance.id, message: 'The NVR is being provisioned.', state: 'provisioning', status: 'IN_PROGRESS', job_id: JOB, correlation_id: JOB } // biome-ignore format: one record
const login = { camera_ip: '10.20.0.31', username: 'viewer', password: '(password of the camera)' }
const template = {
  state: 'ready',
  progress: 100,
  message: 'Ready.',
  template_id: '7',
  template_name: 'groundplane-nvr',
  zone_id: '1',
}

export const camInstance = defineArea({
  ...CAM_AREA,
  name: 'camera-instance',
  description: 'The NVR: its virtual machine, its template and its password; probing, adding and removing cameras.',
  routes: {
    cameraProbe: {
      method: 'POST',
      path: '/cam/cameras/probe',
      summary: 'Probe camera by ONVIF',
      description:
        'One attempt with these credentials, 12 seconds at most. They are in no other part of the answer than the stream addresses.',
      access: 'operator',
      effect: 'read',
      body: CameraProbeBody,
      ok: { 200: CameraProbeResult },
      errors: [400, 401, 422, 502],
      example: {
        body: { ip: '10.20.0.31', username: 'viewer', password: '(password of the camera)' },
        answer: {
          firmware_version: 'V5.7.3', hardware_id: '88', manufacturer: 'Example', model: 'IPC-2', serial_number: 'A1', main_stream_url: 'rtsp://viewer:…@10.20.0.31/main',
          sub_stream_url: '', profiles: [{ codec: 'H264', name: 'main', token: 'p1', framerate: 25, height: 1080, width: 1920, uri: 'rtsp://viewer:…@10.20.0.31/main' }],
        },
      }, // biome-ignore format: one record
    },
    cameraCreate: {
      method: 'POST',
      path: '/cam/cameras',
      summary: 'Add camera to NVR',
      description: 'Writes the configuration of the NVR and restarts it: all its streams drop for about 30 seconds.',
      access: 'admin',
      body: CameraCreateBody,
      ok: { 202: Accepted },
      errors: [400, 404, 409, 502],
      event: { resource_type: 'CAMERA' },
      extension: true,
      example: {
        body: { id: 'yard', name: 'Yard', ...login },
        answer: { ...accepted, message: 'Camera yard is being added.', state: 'restarting' },
      },
    },
    cameraDelete: {
      method: 'DELETE',
      path: '/cam/cameras/{id}',
      summary: 'Remove camera from NVR',
      description: 'Its recordings stay until retention takes them. The NVR restarts.',
      access: 'admin',
      params: CameraParams,
      ok: { 202: Accepted },
      errors: [400, 404, 409, 502],
      event: { resource_type: 'CAMERA' },
      extension: true,
      example: {
        params: { id: 'yard' },
        answer: { ...accepted, message: 'Camera yard is being removed.', state: 'restarting' },
      },
    },
    nvrGet: {
      method: 'GET',
      path: '/cam/current',
      summary: 'Get NVR, or null where there is none',
      access: 'viewer',
      ok: { 200: Nullable(CamInstance) },
      errors: [500],
      example: { answer: instance },
    },
    nvrInitialize: {
      method: 'POST',
      path: '/cam/initialize',
      summary: 'Provision NVR with its first camera',
      description: 'A job: GET /cam/current shows how far it is, and what a person can do when it failed.',
      access: 'admin',
      body: CamInitializeBody,
      ok: { 202: Accepted },
      errors: [400, 409, 500],
      event: nvr,
      example: {
        body: { ...login, network_id: instance.network_id, vgpu_profile_id: '', cores: 4, memory_mb: 8192, gpu_count: 0, recording_disk_gb: 200 },
        answer: accepted,
      }, // biome-ignore format: one record
    },
    nvrRetry: {
      method: 'POST',
      path: '/cam/current/retry',
      summary: 'Retry provisioning of NVR',
      description: 'Goes on where the job that failed has stopped.',
      access: 'admin',
      ok: { 202: Accepted },
      errors: [404, 409, 500],
      event: nvr,
      extension: true,
      example: { answer: accepted },
    },
    nvrDelete: {
      method: 'DELETE',
      path: '/cam/current',
      summary: 'Delete NVR',
      access: 'admin',
      query: Type.Object({
        confirm: Type.String({ minLength: 1, maxLength: 128, description: 'Id of the instance, so that nobody deletes another one than they meant.' }),
        disks: OneOf(['keep', 'destroy'], { description: 'What becomes of the disk with the recordings.' }),
      }), // biome-ignore format: a list of fields
      ok: { 202: Accepted },
      errors: [400, 404, 409, 500],
      event: nvr,
      extension: true,
      example: {
        query: { confirm: instance.id, disks: 'keep' },
        answer: { ...accepted, message: 'The NVR is being deleted.', state: 'deleting' },
      },
    },
    nvrTemplateGet: {
      method: 'GET',
      path: '/cam/template',
      summary: 'Get state of NVR template',
      access: 'viewer',
      ok: { 200: CamTemplate },
      errors: [500],
      example: { answer: template },
    },
    nvrTemplateRegister: {
      method: 'POST',
      path: '/cam/template',
      summary: 'Register NVR template',
      description: 'Safe to repeat. The platform downloads it meanwhile; GET /cam/template shows how far it is.',
      access: 'admin',
      ok: { 200: CamTemplate },
      errors: [500, 502],
      event: nvr,
      example: { answer: { ...template, state: 'downloading', progress: 12, message: '12 % downloaded.' } },
    },
    nvrPasswordRotate: {
      method: 'POST',
      path: '/cam/current/admin-password',
      summary: 'Change admin password of NVR',
      access: 'admin',
      body: Closed({ new_password: Secret('12 characters at least.') }),
      ok: { 200: PasswordState },
      errors: [400, 401, 502],
      event: nvr,
      example: { body: { new_password: '(the new password)' }, answer: { admin_password_acknowledged: true } },
    },
    nvrPasswordAcknowledge: {
      method: 'POST',
      path: '/cam/current/admin-password/ack',
      summary: 'Confirm that generated password of NVR was recorded',
      access: 'admin',
      ok: { 200: PasswordState },
      errors: [404],
      event: nvr,
      example: { answer: { admin_password_acknowledged: true } },
    },
    nvrPasswordVerify: {
      method: 'POST',
      path: '/cam/current/admin-password/verify',
      summary: 'Check admin password of NVR and store it',
      access: 'admin',
      body: Closed({ password: Secret('Password to check.') }),
      ok: { 200: PasswordState },
      errors: [400, 401, 409, 503],
      event: nvr,
      example: { body: { password: '(password of the NVR)' }, answer: { admin_password_acknowledged: true } },
    },
  },
})
