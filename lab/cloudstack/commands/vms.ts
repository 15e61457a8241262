/** Reading machines, changing their record, their console, and what stands beside them: routers, system machines, unmanaged ones. */
import { denied, internal, invalid, unavailable } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { resolveCompute } from '../compute-size.ts'
import type { ComputeSize } from '../compute-size.ts'
import { CONSOLE_PATH } from '../console/console-proxy.ts'
import { vmText } from '../texts.ts'
import { instanceName, vmView } from '../vm-view.ts'
import { needVm, requireState, setVm, vmEvent, vmJob } from '../machines.ts'
import { setting } from '../settings.ts'
import type { ServiceOffering, Vm } from '../records.ts'
import type { Json } from '../row.ts'
import { visible } from '../scope.ts'
import { listMachines } from '../vm-list.ts'
import { object } from '../wire.ts'
import { ownerFields, text } from '../owner-view.ts'
import { listRows } from './infrastructure.ts'
import { checkGroups, checkUserData, checkVmName, extraConfig, refuseSameName } from './vm-deploy.ts'

/** Keys the server keeps to itself. */
const FORBIDDEN_DETAILS = ['extraconfig', 'leaseexpirydate', 'leaseexpiryaction', 'leaseactionexecution']

export const vms: Commands = {
  listVirtualMachines: (call) => listMachines(call, (vm, details) => vmView(call.state, vm, details, call.sample())),
  updateVirtualMachine: (call) => {
    const vm = needVm(call.state, call.params.need('id'))
    checkVmName(call.spec.name, call.params.text('name'))
    checkUserData(call)
    const next = updated(call, vm)
    call.event(vmEvent('VM.UPDATE', 'updating Vm', vm))
    return object(vmView(call.state, next))
  },
  resetUserDataForVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('id'))
    checkUserData(call)
    requireState(vm, ['Stopped'], `VM ${vmText(vm)} should be stopped to do UserData reset`)
    const routed = vm.nics.every((nic) => {
      const network = state.tables.networks.get(nic.networkid)
      return (
        network?.type !== 'Isolated' ||
        state.tables.routers.find((one) => one['guestnetworkid'] === network.id) !== null
      )
    })
    if (!routed)
      throw unavailable(
        'Resource [DataCenter:1] is unreachable: Unable to apply save userdata entry, virtual router is not in the right state',
      )
    const next = setVm(state, vm.id, { userdata: params.text('userdata'), userdataid: params.text('userdataid') })
    call.event(vmEvent('VM.RESETUSERDATA', 'resetting VM userdata', vm))
    return object(vmView(state, next))
  },
  scaleVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('id'))
    const offering = state.tables.serviceofferings.get(params.need('serviceofferingid'))
    if (offering === null) throw invalid('Unable to find service offering: entity does not exist')
    let size = { cpunumber: vm.cpunumber, cpuspeed: vm.cpuspeed, memory: vm.memory }
    return job({
      ...vmJob(vm),
      duration_ms: 1500,
      event: vmEvent(vm.state === 'Running' ? 'VM.DYNAMIC.SCALE' : 'VM.UPGRADE', 'scaling Vm', vm),
      begin: () => {
        size = resolveCompute(offering, params.merged('details'), vm)
        checkScale(call, needVm(state, vm.id), offering, size)
      },
      end: () => {
        const now = needVm(state, vm.id)
        const details = { ...now.details }
        delete details['cpuNumber']
        delete details['memory']
        delete details['cpuSpeed']
        if (offering.iscustomized)
          Object.assign(details, { cpuNumber: String(size.cpunumber), memory: String(size.memory) })
        return vmView(state, setVm(state, vm.id, { ...size, serviceofferingid: offering.id, details }))
      },
    })
  },
  updateVMAffinityGroup: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('id'))
    return job({
      ...vmJob(vm),
      duration_ms: 500,
      event: vmEvent('VM.AG.UPDATE', 'updating affinity groups of VM', vm),
      begin: () => {
        if (!params.has('affinitygroupids') && !params.has('affinitygroupnames'))
          throw invalid('affinitygroupids parameter or affinitygroupnames parameter must be given')
        checkGroups(call, vm, internal)
        const now = needVm(state, vm.id)
        requireState(
          now,
          ['Stopped'],
          `Unable update affinity groups of the virtual machine ${vmText(now)} in state ${now.state}; make sure the virtual machine is stopped and not in an error state before updating.`,
        )
      },
      end: () => vmView(state, setVm(state, vm.id, { affinitygroupids: params.list('affinitygroupids') })),
    })
  },
  createConsoleEndpoint: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    // Failure is told with status 200: only `success` says whether there is a console.
    if (vm.state !== 'Running')
      return object({ success: false, details: `VM ${instanceName(vm)} must be running to connect console for VM` })
    const proxy = state.tables.systemvms.find((one) => one['systemvmtype'] === 'consoleproxy')
    if (proxy?.['state'] !== 'Running')
      return object({ success: false, details: 'Console proxy is not available; it will be ready in a few minutes' })
    const extra = params.text('token')
    const token = state.consoles.admit(vm, extra)
    const { host, port } = state.console_address ?? { host: text(proxy['publicip']) ?? '', port: 8080 }
    return object({
      success: true,
      url: `http://${host}/resource/noVNC/vnc.html?autoconnect=true&port=${port}&token=${token}`,
      websocket: { token, host, port: String(port), path: CONSOLE_PATH, extra },
    })
  },
  listRouters: (call) => {
    const { params, state } = call
    const mine = visible(call)
    const networkid = params.text('networkid')
    const forvpc = params.bool('forvpc')
    const found = state.tables.routers.filter(
      (router) =>
        mine({ accountid: text(router['accountid']) ?? '', projectid: null }) &&
        (networkid === null || router['guestnetworkid'] === networkid) &&
        (forvpc === null || (text(router['vpcid']) !== null) === forvpc),
    )
    return listRows(
      call,
      found.map((router) => ({
        ...router,
        clusterid: state.tables.hosts.get(text(router['hostid']))?.clusterid ?? null,
      })),
      ['zoneid', 'hostid', 'podid', 'clusterid', 'state', 'vpcid', 'version', 'name'],
      ({ clusterid: _cluster, accountid, ...router }) => ({
        ...router,
        ...ownerFields(state, { accountid: text(accountid) ?? '', projectid: null }),
      }),
    )
  },
  listSystemVms: (call) =>
    listRows(call, call.state.tables.systemvms.values(), [
      'systemvmtype',
      'zoneid',
      'hostid',
      'podid',
      'state',
      'name',
    ]),
  listDetailOptions: (call) => {
    const { params, state } = call
    const type = params.need('resourcetype')
    if (type !== 'UserVm' && type !== 'Template') throw invalid(`Invalid resource type ${type}`)
    const id = params.text('resourceid')
    if (id !== null && type === 'UserVm' && state.tables.vms.get(id) === null)
      throw internal(
        'Cannot invoke "com.cloud.vm.VMInstanceVO.getHypervisorType()" because the return value of "com.cloud.vm.dao.VMInstanceDao.findByUuid(String)" is null',
      )
    return object({ details: id === null ? COMMON_OPTIONS : { ...COMMON_OPTIONS, ...KVM_OPTIONS } })
  },
  removeResourceDetail: (call) => {
    const { params, state } = call
    if (params.need('resourcetype') !== 'UserVm')
      throw invalid(`Resource type ${params.need('resourcetype')} has no details here`)
    const vm = needVm(state, params.need('resourceid'))
    const key = params.text('key')
    return job({
      ...vmJob(vm),
      duration_ms: 300,
      end: () => {
        const now = needVm(state, vm.id)
        setVm(
          state,
          vm.id,
          key === null
            ? { details: {}, extraconfig: {} }
            : { details: without(now.details, key), extraconfig: without(now.extraconfig, key) },
        )
        return null
      },
    })
  },
}

/** Whatever goes wrong inside the update comes as 530 with one beginning. */
function updated(call: Call, vm: Vm): Vm {
  const { params, state } = call
  const refuse = (reason: string): never => {
    throw internal(`Failed to update VM, due to: ${reason}`)
  }
  const ha = params.bool('haenable')
  if (ha === true && state.tables.serviceofferings.get(vm.serviceofferingid)?.offerha !== true)
    refuse("Can't enable ha for the vm as it's created from the Service offering having HA disabled")
  if (
    params.bool('isdynamicallyscalable') === true &&
    state.tables.templates.get(vm.templateid)?.isdynamicallyscalable !== true
  )
    refuse('Dynamic Scaling cannot be enabled for the VM since its template does not have dynamic scaling enabled')
  if ((params.has('securitygroupids') || params.has('securitygroupnames')) && vm.state !== 'Stopped')
    refuse('Virtual machine must be stopped prior to update security groups ')
  const name = params.text('name')
  try {
    if (name !== null && name !== vm.name) for (const nic of vm.nics) refuseSameName(call, name, nic.networkid)
    const days = params.int('leaseduration')
    return setVm(state, vm.id, {
      displayname: params.text('displayname') ?? vm.displayname,
      name: name ?? vm.name,
      group: params.text('group') ?? vm.group,
      haenable: ha ?? vm.haenable,
      ostypeid: params.text('ostypeid') ?? vm.ostypeid,
      isdynamicallyscalable: params.bool('isdynamicallyscalable') ?? vm.isdynamicallyscalable,
      deleteprotection: params.bool('deleteprotection') ?? vm.deleteprotection,
      userdata: params.text('userdata') ?? vm.userdata,
      userdataid: params.text('userdataid') ?? vm.userdataid,
      details: nextDetails(call, vm),
      extraconfig: nextExtraConfig(call, vm),
      leaseduration: days ?? vm.leaseduration,
      leaseexpiryaction: params.text('leaseexpiryaction') ?? vm.leaseexpiryaction,
      leaseexpirydate: days === null ? vm.leaseexpirydate : Date.now() + days * 86_400_000,
    })
  } catch (error) {
    return refuse(error instanceof Error ? error.message : '')
  }
}

/** The map is replaced as a whole and only index 0 is read; extraconfig keys are the server's own. */
function nextDetails(call: Call, vm: Vm): Record<string, string> {
  const { params, state } = call
  // Details that are not for display stay whatever is sent.
  const hidden = Object.fromEntries(
    Object.entries(vm.details).filter(([name]) => FORBIDDEN_DETAILS.includes(name.toLowerCase())),
  )
  if (params.bool('cleanupdetails') === true) return hidden
  const given = params.maps('details')[0]
  if (given === undefined || Object.keys(given).length === 0) return vm.details
  const forbidden = Object.keys(given).find((name) => FORBIDDEN_DETAILS.includes(name.toLowerCase()))
  if (forbidden !== undefined) throw invalid(`'${forbidden}' should not be included in details as key`)
  const plain = Object.entries(given).filter(([name]) => !name.startsWith('extraconfig'))
  const next = { ...Object.fromEntries(plain), ...hidden }
  const offering = state.tables.serviceofferings.get(vm.serviceofferingid)
  if (offering?.iscustomized === true) resolveCompute(offering, next, null)
  return next
}

function nextExtraConfig(call: Call, vm: Vm): Record<string, string> {
  const { params, state } = call
  const value = params.text('extraconfig')
  if (value === null) return vm.extraconfig
  if (setting(state, 'enable.additional.vm.configuration', vm.accountid) !== 'true')
    throw invalid('attempted setting extraconfig but enable.additional.vm.configuration is disabled')
  const added = extraConfig(value)
  const allowed = setting(state, 'allow.additional.vm.configuration.list.kvm', vm.accountid)
    .split(',')
    .map((one) => one.trim())
  for (const snippet of Object.values(added)) {
    const element = /<\s*([\w:-]+)/.exec(snippet)?.[1]
    if (element === undefined || !allowed.includes(element))
      throw internal(`Extra config ${element ?? snippet} is not on the list of allowed keys for KVM hypervisor hosts`)
  }
  return { ...vm.extraconfig, ...added }
}

function checkScale(call: Call, vm: Vm, next: ServiceOffering, size: ComputeSize): void {
  const { state } = call
  const current = state.tables.serviceofferings.get(vm.serviceofferingid)
  if (vm.state !== 'Running' && vm.state !== 'Stopped')
    throw invalid(
      `Unable to upgrade virtual machine ${vmText(vm)}  in state ${vm.state}; make sure the virtual machine is stopped/running`,
    )
  if (next.id === vm.serviceofferingid && !next.iscustomized)
    throw invalid(`Not upgrading vm ${vmText(vm)} since it already has the requested service offering (${next.name})`)
  if (vm.state === 'Stopped') return
  if (setting(state, 'enable.dynamic.scale.vm', vm.zoneid) !== 'true')
    throw denied('Dynamic scaling of running VMs is disabled in the zone')
  const was = { memory: vm.memory, speed: vm.cpuspeed, cpu: vm.cpunumber }
  const is = { memory: size.memory, speed: size.cpuspeed, cpu: size.cpunumber }
  const up = is.cpu >= was.cpu && is.speed >= was.speed && is.memory >= was.memory
  const grows = is.cpu > was.cpu || is.speed > was.speed || is.memory > was.memory
  if (!up || !grows)
    throw invalid(
      `While the VM is running, only scalling up it is supported. New service offering ${JSON.stringify(is)} should have at least one value (ram, speed or cpu) greater than the current values ${JSON.stringify(was)}.`,
    )
  if (!vm.isdynamicallyscalable)
    throw internal(`Unable to scale ${vmText(vm)} as it does not have tools to support dynamic scaling.`)
  if (current?.iscustomized !== true)
    throw invalid('Unable to live scale VM on KVM when current service offering is a "Fixed Offering"')
  if (current.dynamicscalingenabled !== next.dynamicscalingenabled)
    throw invalid('Both service offerings need the same dynamic scaling setting')
}

function without(map: Readonly<Record<string, string>>, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => name !== key))
}

const COMMON_OPTIONS: Record<string, Json> = { 'cpu.corespersocket': [], rootdisksize: [] }

const KVM_OPTIONS: Record<string, Json> = {
  UEFI: ['LEGACY', 'SECURE'],
  'virtual.tpm.model': ['tpm-tis', 'tpm-crb'],
  'virtual.tpm.version': ['1.2', '2.0'],
  nicAdapter: ['e1000', 'virtio', 'rtl8139', 'vmxnet3', 'ne2k_pci'],
  rootDiskController: ['osdefault', 'ide', 'scsi', 'virtio', 'virtio-blk'],
  'video.hardware': ['cirrus', 'vga', 'qxl', 'virtio'],
  'video.ram': [],
  'io.policy': ['threads', 'native', 'io_uring', 'storage_specific'],
  iothreads: ['enabled'],
  'nic.multiqueue.number': [],
  'nic.packed.virtqueues.enabled': ['true', 'false'],
  'guest.cpu.mode': ['custom', 'host-model', 'host-passthrough'],
  'guest.cpu.model': [],
  'cpu.threadspercore': [],
  keyboard: ['uk', 'us', 'jp', 'fr'],
}
