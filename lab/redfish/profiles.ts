/** How the five kinds of simulated BMCs differ: ids, paths, features and habits. */
export const PROFILE_NAMES = ['generic-2023', 'idrac9-5', 'idrac9-7', 'idrac10', 'minimal'] as const
export type ProfileName = (typeof PROFILE_NAMES)[number]

export interface Profile {
  name: ProfileName
  maker: string
  system: string
  manager: string
  manager_model: string
  manager_firmware: string
  is_dell: boolean
  sessions: boolean
  /** Where virtual media stand, and the ids of the slots. */
  media: { under: 'system' | 'manager'; slots: { id: string; types: string[] }[] } | null
  bios: boolean
  /** Queue of jobs of its own, with ids that begin with JID. */
  jobs: boolean
  /** JobService beside the vendor's own queue. */
  job_service: boolean
  tasks: boolean
  update: boolean
  reset_target: string
  update_target: string
  reset_types: readonly string[] | null
  /** Reset types by ActionInfo instead of in the resource. */
  action_info: boolean
  etags: 'strong' | 'weak' | 'none'
  boot_modes: boolean
}

const DELL_RESETS = ['On', 'ForceOff', 'ForceRestart', 'GracefulRestart', 'GracefulShutdown', 'PushPowerButton', 'Nmi', 'PowerCycle'] // biome-ignore format: one list

const dell: Omit<Profile, 'name' | 'manager_model' | 'manager_firmware' | 'media' | 'job_service' | 'etags'> = {
  maker: 'Dell Inc.',
  system: 'System.Embedded.1',
  manager: 'iDRAC.Embedded.1',
  is_dell: true,
  sessions: true,
  bios: true,
  jobs: true,
  tasks: true,
  update: true,
  reset_target: '/Actions/ComputerSystem.Reset',
  update_target: '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate',
  reset_types: DELL_RESETS,
  action_info: false,
  boot_modes: true,
}

const NUMBERED = [
  { id: '1', types: ['CD', 'DVD', 'USBStick'] },
  { id: '2', types: ['CD', 'DVD', 'USBStick'] },
]

export const PROFILES: Record<ProfileName, Profile> = {
  'generic-2023': {
    name: 'generic-2023',
    maker: 'Contoso',
    system: '1U-A7',
    manager: 'bmc0',
    manager_model: 'AST2600',
    manager_firmware: '2.14.0',
    is_dell: false,
    sessions: true,
    media: {
      under: 'system',
      slots: [
        { id: 'USB1', types: ['USBStick'] },
        { id: 'CD1', types: ['CD', 'DVD'] },
      ],
    },
    bios: true,
    jobs: false,
    job_service: false,
    tasks: true,
    update: true,
    reset_target: '/Actions/Reset-it',
    update_target: '/redfish/v1/UpdateService/Actions/SimpleUpdate',
    reset_types: ['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart'],
    action_info: true,
    etags: 'strong',
    boot_modes: true,
  },
  'idrac9-5': {
    ...dell,
    name: 'idrac9-5',
    manager_model: '14G Monolithic',
    manager_firmware: '5.10.50.00',
    media: {
      under: 'manager',
      slots: [
        { id: 'CD', types: ['CD', 'DVD'] },
        { id: 'RemovableDisk', types: ['USBStick'] },
      ],
    },
    job_service: false,
    etags: 'weak',
  },
  'idrac9-7': {
    ...dell,
    name: 'idrac9-7',
    manager_model: '16G Monolithic',
    manager_firmware: '7.00.60.00',
    media: { under: 'system', slots: NUMBERED },
    job_service: true,
    etags: 'strong',
  },
  idrac10: {
    ...dell,
    name: 'idrac10',
    manager_model: '17G Monolithic',
    manager_firmware: '1.20.50.50',
    media: { under: 'system', slots: NUMBERED },
    job_service: true,
    etags: 'strong',
  },
  minimal: {
    name: 'minimal',
    maker: 'Oddball',
    system: 'sys',
    manager: 'mgr',
    manager_model: 'tiny',
    manager_firmware: '0.9',
    is_dell: false,
    sessions: false,
    media: null,
    bios: false,
    jobs: false,
    job_service: false,
    tasks: false,
    update: false,
    reset_target: '/Actions/ComputerSystem.Reset',
    update_target: '',
    reset_types: null,
    action_info: false,
    etags: 'none',
    boot_modes: false,
  },
}
