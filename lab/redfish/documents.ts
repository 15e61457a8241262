/** The resources of a simulated BMC, made from its state whenever they are read. */
import type { Document } from './answer.ts'
import { registry } from './registry.ts'
import type { BmcState, Media, RemoteJob } from './state.ts'

const ROOT = '/redfish/v1'
export const link = (path: string): Document => ({ '@odata.id': path })
const collection = (type: string, paths: string[]): Document => ({
  '@odata.type': `#${type}Collection.${type}Collection`,
  Name: `${type} Collection`,
  'Members@odata.count': paths.length,
  Members: paths.map(link),
})

export interface Paths {
  system: string
  manager: string
  chassis: string
  media: string | null
  sessions: string
  jobs: string
  job_service_jobs: string
  tasks: string
}

export function pathsOf({ profile }: BmcState): Paths {
  const system = `${ROOT}/Systems/${profile.system}`
  const manager = `${ROOT}/Managers/${profile.manager}`
  return {
    system,
    manager,
    chassis: `${ROOT}/Chassis/main`,
    media: profile.media === null ? null : `${profile.media.under === 'system' ? system : manager}/VirtualMedia`,
    sessions: profile.is_dell ? `${ROOT}/SessionService/Sessions` : `${ROOT}/SessionService/Sessions-A`,
    jobs: `${manager}/Oem/Dell/Jobs`,
    job_service_jobs: `${ROOT}/JobService/Jobs`,
    tasks: `${ROOT}/TaskService/Tasks`,
  }
}

/** Undefined: there is no such resource. */
export function documentAt(state: BmcState, path: string): Document | undefined {
  const made = (fixed(state)[path] ?? listed(state, path))?.()
  return made === undefined ? undefined : { '@odata.id': path, ...made }
}

type Makers = Record<string, (() => Document) | undefined>

function fixed(state: BmcState): Makers {
  const { profile } = state
  const at = pathsOf(state)
  const common: Makers = {
    [ROOT]: () => root(state, at),
    [`${ROOT}/Systems`]: () => collection('ComputerSystem', [at.system]),
    [`${ROOT}/Managers`]: () => collection('Manager', [at.manager]),
    [`${ROOT}/Chassis`]: () => collection('Chassis', [at.chassis]),
    [at.system]: () => system(state, at),
    [at.manager]: () => manager(state, at),
    [at.chassis]: () => ({
      Id: 'main', Name: 'Chassis', ChassisType: 'RackMount', PowerSubsystem: link(`${at.chassis}/PowerSubsystem`),
      Links: { ComputerSystems: [link(at.system)], ManagedBy: [link(at.manager)] },
    }), // biome-ignore format: a record
    [`${at.chassis}/PowerSubsystem`]: () => ({
      Id: 'PowerSubsystem',
      Name: 'Power',
      PowerSupplies: link(`${at.chassis}/PowerSubsystem/PowerSupplies`),
    }),
    [`${at.chassis}/PowerSubsystem/PowerSupplies`]: () =>
      collection('PowerSupply', [`${at.chassis}/PowerSubsystem/PowerSupplies/1`]),
    [`${at.chassis}/PowerSubsystem/PowerSupplies/1`]: () => ({
      Id: '1', Name: 'PSU 1', Model: 'PWR 1100W', SerialNumber: `PS${state.serial}`, PowerCapacityWatts: 1100,
      LineInputStatus: 'Normal', Status: { State: 'Enabled', Health: 'OK' },
    }), // biome-ignore format: a record
    [`${at.system}/ResetActionInfo`]: () => ({
      Id: 'ResetActionInfo', Name: 'Reset', Parameters: [{ Name: 'ResetType', Required: true, DataType: 'String', AllowableValues: profile.reset_types }],
    }), // biome-ignore format: a record
    ...hardware(state, at),
  }
  return {
    ...common,
    ...(profile.sessions ? sessionService(state, at) : {}),
    ...(profile.bios ? bios(state, at) : {}),
    ...(profile.update ? updateService(state) : {}),
    ...(profile.media === null || at.media === null ? {} : mediaCollection(state, at.media)),
    ...(profile.tasks ? taskService(state, at) : {}),
    ...(profile.jobs ? vendorJobs(state, at) : {}),
  }
}

function root({ profile, uuid }: BmcState, at: Paths): Document {
  return {
    '@odata.type': '#ServiceRoot.v1_15_0.ServiceRoot',
    Id: 'RootService', Name: 'Root Service', RedfishVersion: '1.17.0', UUID: uuid,
    Systems: link(`${ROOT}/Systems`), Managers: link(`${ROOT}/Managers`), Chassis: link(`${ROOT}/Chassis`),
    ...(profile.sessions ? { SessionService: link(`${ROOT}/SessionService`), Links: { Sessions: link(at.sessions) } } : {}),
    ...(profile.bios ? { Registries: link(`${ROOT}/Registries`) } : {}),
    ...(profile.update ? { UpdateService: link(`${ROOT}/UpdateService`) } : {}),
    // As one service does: the tasks are there, the link is not.
    ...(profile.tasks && profile.is_dell ? { Tasks: link(`${ROOT}/TaskService`) } : {}),
    ...(profile.job_service ? { JobService: link(`${ROOT}/JobService`) } : {}),
  } // biome-ignore format: a record
}

function system(state: BmcState, at: Paths): Document {
  const { profile, boot, habits } = state
  const under = (name: string): Document => ({ [name]: link(`${at.system}/${name}`) })
  const listed =
    profile.reset_types === null || profile.action_info
      ? {}
      : { 'ResetType@Redfish.AllowableValues': profile.reset_types }
  const info = profile.action_info ? { '@Redfish.ActionInfo': `${at.system}/ResetActionInfo` } : {}
  return {
    '@odata.type': '#ComputerSystem.v1_20_0.ComputerSystem',
    Id: profile.system, Name: 'System', SystemType: 'Physical', Manufacturer: profile.maker, Model: 'Lab R1', SKU: state.serial,
    SerialNumber: `SN${state.serial}`, UUID: state.uuid, PartNumber: 'LAB-0001', AssetTag: '', HostName: '', BiosVersion: state.bios_version,
    PowerState: state.power, LastResetTime: state.last_reset_at, IndicatorLED: 'Off', Status: { State: 'Enabled', Health: 'OK', HealthRollup: 'OK' },
    Boot: {
      BootSourceOverrideEnabled: habits.continuous_boot && boot.enabled === 'Once' ? 'Continuous' : boot.enabled,
      BootSourceOverrideTarget: boot.target,
      'BootSourceOverrideTarget@Redfish.AllowableValues': ['None', 'Pxe', 'Cd', 'Hdd', 'BiosSetup'],
      ...(profile.boot_modes ? { BootSourceOverrideMode: boot.mode, 'BootSourceOverrideMode@Redfish.AllowableValues': ['Legacy', 'UEFI'] } : {}),
    },
    ProcessorSummary: { Count: 2, Model: 'Lab CPU 16C', Status: { Health: 'OK' } },
    MemorySummary: { TotalSystemMemoryGiB: 64, Status: { Health: 'OK' } },
    ...under('Processors'), ...under('Memory'), ...under('Storage'), ...under('EthernetInterfaces'),
    ...(profile.bios ? under('Bios') : {}),
    ...(profile.media?.under === 'system' ? under('VirtualMedia') : {}),
    Actions: { '#ComputerSystem.Reset': { target: `${at.system}${profile.reset_target}`, ...listed, ...info } },
    Links: { Chassis: [link(at.chassis)], ManagedBy: [link(at.manager)] },
  } // biome-ignore format: a record
}

function manager(state: BmcState, at: Paths): Document {
  const { profile } = state
  const dell = profile.is_dell
    ? { Oem: { Dell: {
        Jobs: link(at.jobs), DellJobService: link(`${at.manager}/Oem/Dell/DellJobService`), DellLCService: link(`${at.manager}/Oem/Dell/DellLCService`),
      } } }
    : {} // biome-ignore format: a record
  return {
    '@odata.type': '#Manager.v1_17_0.Manager',
    Id: profile.manager, Name: 'Manager', ManagerType: 'BMC', Model: profile.manager_model, FirmwareVersion: state.manager_firmware,
    DateTime: new Date().toISOString(), DateTimeLocalOffset: '+00:00', UUID: state.uuid, PowerState: 'On', Status: { State: 'Enabled', Health: 'OK' },
    EthernetInterfaces: link(`${at.manager}/EthernetInterfaces`),
    Actions: { '#Manager.Reset': { target: `${at.manager}/Actions/Manager.Reset`, 'ResetType@Redfish.AllowableValues': ['GracefulRestart'] } },
    ...(profile.media?.under === 'manager' ? { VirtualMedia: link(`${at.manager}/VirtualMedia`) } : {}),
    Links: { ManagerForServers: [link(at.system)], ManagerForChassis: [link(at.chassis)], ...dell },
  } // biome-ignore format: a record
}

function sessionService(state: BmcState, at: Paths): Makers {
  return {
    [`${ROOT}/SessionService`]: () => ({
      Id: 'SessionService',
      Name: 'Sessions',
      ServiceEnabled: true,
      SessionTimeout: 1800,
      Sessions: link(at.sessions),
    }),
    [at.sessions]: () =>
      collection(
        'Session',
        [...state.sessions.keys()].map((id) => `${at.sessions}/${id}`),
      ),
  }
}

function bios(state: BmcState, at: Paths): Makers {
  const { habits } = state
  const path = `${at.system}/Bios`
  return {
    [path]: () => ({
      Id: 'Bios', Name: 'BIOS settings', AttributeRegistry: 'BiosAttributeRegistry.v1_0_4',
      Attributes: { ...state.bios, SetupPassword: '', ...(habits.pending_as_current ? state.bios_pending : {}) },
      '@Redfish.Settings': { '@odata.type': '#Settings.v1_3_5.Settings', SettingsObject: link(`${path}/Settings`), SupportedApplyTimes: ['OnReset', 'AtMaintenanceWindowStart'] },
      Actions: { '#Bios.ResetBios': { target: `${path}/Actions/Bios.ResetBios` } },
    }), // biome-ignore format: a record
    [`${path}/Settings`]: () => ({
      Id: 'Settings',
      Name: 'Pending BIOS settings',
      Attributes: { ...state.bios_pending },
    }),
    // The names differ between the two places, as in one service that was recorded.
    [`${ROOT}/Registries`]: () =>
      collection('MessageRegistryFile', [`${ROOT}/Registries/Base.1.12.0`, `${ROOT}/Registries/BiosAttributeRegistry`]),
    [`${ROOT}/Registries/Base.1.12.0`]: () => ({
      Id: 'Base.1.12.0',
      Name: 'Base',
      Registry: 'Base.1.12',
      Location: [],
    }),
    [`${ROOT}/Registries/BiosAttributeRegistry`]: () => ({
      Id: 'BiosAttributeRegistry', Name: 'BIOS', Registry: 'BiosAttributeRegistry.v1_0_0', Languages: ['En'],
      Location: [{ Language: 'En', Uri: `${ROOT}/Registries/BiosAttributeRegistry/BiosAttributeRegistry.v1_0_4` }],
    }), // biome-ignore format: a record
    [`${ROOT}/Registries/BiosAttributeRegistry/BiosAttributeRegistry.v1_0_4`]: () => registry(),
  }
}

function updateService(state: BmcState): Makers {
  const base = `${ROOT}/UpdateService`
  const rows: Record<string, [string, string]> = {
    'Installed-159': ['BIOS', state.bios_version],
    'Previous-159': ['BIOS', '2.0.9'],
    'Installed-25227': ['Lifecycle', state.manager_firmware],
  }
  return {
    [base]: () => ({
      Id: 'UpdateService', Name: 'Updates', ServiceEnabled: true, FirmwareInventory: link(`${base}/FirmwareInventory`),
      Actions: { '#UpdateService.SimpleUpdate': { target: state.profile.update_target, 'TransferProtocol@Redfish.AllowableValues': ['HTTP', 'HTTPS'] } },
    }), // biome-ignore format: a record
    [`${base}/FirmwareInventory`]: () =>
      collection(
        'SoftwareInventory',
        Object.keys(rows).map((id) => `${base}/FirmwareInventory/${id}`),
      ),
    ...Object.fromEntries(
      Object.entries(rows).map(([id, [name, version]]) => [
        `${base}/FirmwareInventory/${id}`,
        () => ({ Id: id, Name: name, Version: version, Updateable: true }),
      ]),
    ),
  }
}

function mediaCollection(state: BmcState, path: string): Makers {
  return {
    [path]: () =>
      collection(
        'VirtualMedia',
        state.media.map(({ id }) => `${path}/${id}`),
      ),
    ...Object.fromEntries(
      state.media.map((media) => [`${path}/${media.id}`, () => mediaDocument(media, `${path}/${media.id}`)]),
    ),
  }
}

function mediaDocument({ id, types, image, write_protected }: Media, path: string): Document {
  return {
    Id: id, Name: `Virtual ${types[0] ?? 'media'}`, MediaTypes: types, Image: image, ImageName: image === null ? null : image.split('/').at(-1),
    Inserted: image !== null, WriteProtected: write_protected, ConnectedVia: image === null ? 'NotConnected' : 'URI',
    Actions: {
      '#VirtualMedia.InsertMedia': { target: `${path}/Actions/VirtualMedia.InsertMedia` },
      '#VirtualMedia.EjectMedia': { target: `${path}/Actions/VirtualMedia.EjectMedia` },
    },
  } // biome-ignore format: a record
}

function taskService(state: BmcState, at: Paths): Makers {
  return {
    [`${ROOT}/TaskService`]: () => ({ Id: 'TaskService', Name: 'Tasks', ServiceEnabled: true, Tasks: link(at.tasks) }),
    [at.tasks]: () =>
      collection(
        'Task',
        state.jobs.map(({ id }) => `${at.tasks}/${id}`),
      ),
  }
}

function vendorJobs(state: BmcState, at: Paths): Makers {
  const service = `${at.manager}/Oem/Dell`
  const jobs = (base: string) => (): Document => ({
    ...collection('Job', []),
    'Members@odata.count': state.jobs.length,
    Members: state.jobs.map((job) => ({ '@odata.id': `${base}/${job.id}`, ...jobDocument(job) })),
  })
  return {
    [at.jobs]: jobs(at.jobs),
    ...(state.profile.job_service
      ? {
          [`${ROOT}/JobService`]: () => ({ Id: 'JobService', Name: 'Jobs', Jobs: link(at.job_service_jobs) }),
          [at.job_service_jobs]: jobs(at.job_service_jobs),
        }
      : {}),
    [`${service}/DellJobService`]: () => ({
      Id: 'Job', Name: 'Job service', Actions: { '#DellJobService.DeleteJobQueue': { target: `${service}/DellJobService/Actions/DellJobService.DeleteJobQueue` } },
    }), // biome-ignore format: a record
    [`${service}/DellLCService`]: () => ({
      Id: 'LC', Name: 'Lifecycle', Actions: { '#DellLCService.GetRemoteServicesAPIStatus': { target: `${service}/DellLCService/Actions/DellLCService.GetRemoteServicesAPIStatus` } },
    }), // biome-ignore format: a record
  }
}

/** Members of collections that come and go. */
function listed(state: BmcState, path: string): (() => Document) | undefined {
  const at = pathsOf(state)
  const [base, id] = [path.slice(0, path.lastIndexOf('/')), path.slice(path.lastIndexOf('/') + 1)]
  const job = state.jobs.find((one) => one.id === id)
  if (job !== undefined && base === at.tasks && state.profile.tasks) return () => taskDocument(job)
  if (job !== undefined && (base === at.jobs || base === at.job_service_jobs) && state.profile.jobs)
    return () => jobDocument(job)
  return undefined
}

function jobDocument({ id, name, state, percent, message, made_at }: RemoteJob): Document {
  return {
    Id: id,
    Name: name,
    JobState: state,
    JobType: 'BIOSConfiguration',
    PercentComplete: percent,
    Message: message,
    StartTime: made_at,
  }
}

function taskDocument({ id, name, state, percent, message, made_at }: RemoteJob): Document {
  const word = state === 'Scheduled' ? 'Pending' : state === 'Failed' ? 'Exception' : state
  return {
    '@odata.type': '#Task.v1_7_0.Task',
    Id: id,
    Name: name,
    TaskState: word,
    TaskStatus: 'OK',
    PercentComplete: percent,
    StartTime: made_at,
    Messages: [{ Message: message }],
  }
}

function hardware({ serial }: BmcState, at: Paths): Makers {
  const member = (base: string, rows: Record<string, Document>): Makers => ({
    [`${at.system}/${base}`]: () =>
      collection(
        base,
        Object.keys(rows).map((id) => `${at.system}/${base}/${id}`),
      ),
    ...Object.fromEntries(
      Object.entries(rows).map(([id, row]) => [
        `${at.system}/${base}/${id}`,
        () => ({ Id: id, Name: id, Status: { State: 'Enabled', Health: 'OK' }, ...row }),
      ]),
    ),
  })
  const cpu = {
    ProcessorType: 'CPU',
    Model: 'Lab CPU 16C',
    Manufacturer: 'Lab',
    ProcessorArchitecture: 'x86',
    TotalCores: 16,
    TotalThreads: 32,
    MaxSpeedMHz: 3600,
  }
  const dimm = {
    CapacityMiB: 32_768,
    MemoryDeviceType: 'DDR5',
    OperatingSpeedMhz: 4800,
    Manufacturer: 'Lab',
    PartNumber: 'M1',
  }
  const mac = (n: number): string => `02:00:${serial.slice(0, 6).match(/../g)?.join(':') ?? '00:00:00'}:0${n}`
  const drive = `${at.system}/Storage/RAID-1/Drives/0`
  return {
    ...member('Processors', { CPU1: { ...cpu, Socket: 'CPU.1' }, CPU2: { ...cpu, Socket: 'CPU.2' } }),
    ...member('Memory', {
      A1: { ...dimm, DeviceLocator: 'A1', SerialNumber: `M${serial}1` },
      A2: { ...dimm, DeviceLocator: 'A2', SerialNumber: `M${serial}2` },
    }),
    ...member('EthernetInterfaces', {
      'NIC.1-1': {
        MACAddress: mac(1).toUpperCase(),
        PermanentMACAddress: mac(1).toUpperCase(),
        SpeedMbps: 25_000,
        LinkStatus: 'LinkUp',
      },
      'NIC.1-2': { MACAddress: mac(2), PermanentMACAddress: mac(2), SpeedMbps: 25_000, LinkStatus: 'LinkDown' },
      VLAN1: { MACAddress: mac(1), VLAN: { VLANEnable: true, VLANId: 101 } },
    }),
    ...member('Storage', {
      'RAID-1': {
        Name: 'RAID controller',
        Drives: [link(drive)],
        Volumes: link(`${at.system}/Storage/RAID-1/Volumes`),
      },
    }),
    [drive]: () => ({
      Id: '0', Name: 'Disk 0', Model: 'LAB SSD', Manufacturer: 'Lab', SerialNumber: `D${serial}`, CapacityBytes: 960_197_124_096, MediaType: 'SSD', Protocol: 'SATA',
      CapableSpeedGbs: 6, FailurePredicted: false, PredictedMediaLifeLeftPercent: 97, EncryptionAbility: 'None', Identifiers: [{ DurableName: `500${serial.toLowerCase()}`, DurableNameFormat: 'NAA' }],
    }), // biome-ignore format: a record
    [`${at.system}/Storage/RAID-1/Volumes`]: () => collection('Volume', [`${at.system}/Storage/RAID-1/Volumes/0`]),
    [`${at.system}/Storage/RAID-1/Volumes/0`]: () => ({
      Id: '0',
      Name: 'Virtual disk',
      RAIDType: 'RAID1',
      CapacityBytes: 960_197_124_096,
      Links: { Drives: [link(drive)] },
    }),
    [`${at.manager}/EthernetInterfaces`]: () =>
      collection('EthernetInterface', [`${at.manager}/EthernetInterfaces/eth0`]),
    [`${at.manager}/EthernetInterfaces/eth0`]: () => ({ Id: 'eth0', Name: 'Manager', MACAddress: mac(9) }),
  }
}
