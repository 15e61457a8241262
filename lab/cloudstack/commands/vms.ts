/** Reading machines, changing their record, their console, and what stands beside them: routers, system machines, unmanaged ones. */
import { randomBytes } from 'node:crypto'
import { denied, internal, invalid, unavailable } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { resolveCompute } from '../compute-size.ts'
import { instanceName, vmView } from '../vm-view.ts'
import { needVm, requireState, setVm, vmEvent, vmJob } from '../machines.ts'
import { setting } from '../settings.ts'
import type { Vm } from '../records.ts'
import type { Json } from '../row.ts'
import { paged, visible } from '../scope.ts'
import { listMachines } from '../vm-list.ts'
import { object } from '../wire.ts'
import { ownerFields, text } from '../owner-view.ts'
import { listRows } from './infrastructure.ts'
import { checkGroups, extraConfig } from './vm-deploy.ts'

/** Keys the server keeps to itself. */
const FORBIDDEN_DETAILS = ['extraconfig', 'leaseexpirydate', 'leaseexpiryaction', 'leaseactionexecution']

export const vms: Commands = {
  listVirtualMachines: (call) => listMachines(call, (vm, details) => vmView(call.state, vm, details, call.sample())),
  updateVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('id'))
    if (vm.state === 'Error' || vm.state === 'Expunging')
      throw invalid(`Unable to update virtual machine ${vm.name}: it is not in the right state (${vm.state})`)
    const ha = params.bool('haenable')
    if (ha === true && state.tables.serviceofferings.get(vm.serviceofferingid)?.offerha !== true)
      throw invalid(`Can't enable ha for the vm as it's created from the Service offering having HA disabled`)
    if ((params.has('securitygroupids') || params.has('securitygroupnames')) && vm.state !== 'Stopped')
      throw invalid('Virtual machine must be stopped prior to update security groups')
    const name = params.text('name')
    if (name !== null && !/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(name))
      throw invalid('Invalid name. Vm name can contain only ASCII letters, digits and the hyphen')
    const days = params.int('leaseduration')
    const next = setVm(state, vm.id, {
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
    call.event(vmEvent('VM.UPDATE', 'updating Vm', vm))
    return object(vmView(state, next))
  },
  resetUserDataForVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('id'))
    requireState(vm, ['Stopped'], `Vm id=${vm.id} should be stopped to do UserData reset`)
    checkUserData(call)
    const next = setVm(state, vm.id, { userdata: params.text('userdata'), userdataid: params.text('userdataid') })
    call.event(vmEvent('VM.RESETUSERDATA', 'resetting VM userdata', vm))
    return object(vmView(state, next))
  },
  getVirtualMachineUserData: (call) => {
    const vm = needVm(call.state, call.params.need('virtualmachineid'))
    return object({ virtualmachineid: vm.id, userdata: vm.userdata })
  },
  resetPasswordForVirtualMachine: (call) => {
    const vm = needVm(call.state, call.params.need('id'))
    requireState(vm, ['Stopped'], `Vm id=${vm.id} should be stopped to do password reset`)
    return job({
      ...vmJob(vm),
      duration_ms: 800,
      event: vmEvent('VM.RESETPASSWORD', 'resetting Vm password', vm),
      end: () => ({ ...vmView(call.state, needVm(call.state, vm.id)), password: randomBytes(6).toString('hex') }),
    })
  },
  scaleVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('id'))
    const offering = state.tables.serviceofferings.get(params.need('serviceofferingid'))
    if (offering === null) throw invalid('Unable to find service offering: entity does not exist')
    const size = resolveCompute(offering, params.merged('details'), vm)
    return job({
      ...vmJob(vm),
      duration_ms: 1500,
      event: vmEvent(vm.state === 'Running' ? 'VM.DYNAMIC.SCALE' : 'VM.UPGRADE', 'scaling Vm', vm),
      begin: () => {
        checkScale(call, needVm(state, vm.id), offering.id, size)
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
    checkGroups(call, vm)
    return job({
      ...vmJob(vm),
      duration_ms: 500,
      event: vmEvent('VM.AG.UPDATE', 'updating affinity groups of VM', vm),
      begin: () => {
        requireState(
          needVm(state, vm.id),
          ['Stopped'],
          `Unable to update affinity groups of the virtual machine ${vm.name} in state ${vm.state}; make sure the virtual machine is stopped and not in an error state before updating.`,
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
    const token = randomBytes(32).toString('base64url')
    const host = text(proxy['publicip']) ?? ''
    return object({
      success: true,
      url: `http://${host}/resource/noVNC/vnc.html?autoconnect=true&port=8080&token=${token}`,
      websocket: { token, host, port: '8080', path: 'websockify', extra: params.text('token') },
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
    if (type !== 'UserVm' && type !== 'Template') throw invalid(`Resource type not supported: ${type}`)
    const id = params.text('resourceid')
    if (id !== null && type === 'UserVm') needVm(state, id)
    return object({ details: id === null ? COMMON_OPTIONS : { ...COMMON_OPTIONS, ...KVM_OPTIONS } })
  },
  listResourceDetails: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('resourceid'))
    if (params.need('resourcetype') !== 'UserVm')
      throw invalid(`Resource type ${params.need('resourcetype')} has no details here`)
    const key = params.text('key')
    const found = Object.entries({ ...vm.details, ...vm.extraconfig }).filter(([name]) => key === null || name === key)
    return paged(call, found, ([name, value]) => ({ key: name, value, resourceid: vm.id, resourcetype: 'UserVm' }))
  },
  addResourceDetail: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('resourceid'))
    const added: Record<string, string> = {}
    for (const one of params.maps('details')) if (one['key'] !== undefined) added[one['key']] = one['value'] ?? ''
    return job({
      ...vmJob(vm),
      duration_ms: 300,
      end: () => {
        setVm(state, vm.id, { details: { ...needVm(state, vm.id).details, ...added } })
        return null
      },
    })
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
  unmanageVirtualMachine: (call) => {
    const vm = needVm(call.state, call.params.need('id'))
    if (vm.isoid !== null) throw invalid(`VM has an ISO attached; unmanaging it is not possible`)
    throw unavailable('Unmanaging VMs of this hypervisor is not supported')
  },
  createTags: (call) =>
    tagJob(call, (tags) => {
      const given = Object.fromEntries(
        call.params
          .maps('tags')
          .filter((one) => one['key'] !== undefined)
          .map((one) => [one['key'] ?? '', one['value'] ?? '']),
      )
      return { ...tags, ...given }
    }),
  deleteTags: (call) =>
    tagJob(call, (tags) =>
      Object.fromEntries(
        Object.entries(tags).filter(([key]) => !call.params.maps('tags').some((one) => one['key'] === key)),
      ),
    ),
}

function tagJob(call: Call, change: (tags: Record<string, string>) => Record<string, string>): ReturnType<typeof job> {
  const { params, state } = call
  if (params.need('resourcetype') !== 'UserVm')
    throw invalid(`Tags are kept for UserVm only, not for ${params.need('resourcetype')}`)
  const ids = params.list('resourceids').map((id) => needVm(state, id).id)
  return job({
    instancetype: 'Tag',
    instanceid: null,
    duration_ms: 200,
    end: () => {
      for (const id of ids) setVm(state, id, { tags: change(needVm(state, id).tags) })
      return null
    },
  })
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
  const kept = Object.entries(given).filter(([name]) => !name.startsWith('extraconfig'))
  const next = { ...Object.fromEntries(kept), ...hidden }
  const offering = state.tables.serviceofferings.get(vm.serviceofferingid)
  if (offering?.iscustomized === true) resolveCompute(offering, next, null)
  return next
}

function nextExtraConfig(call: Call, vm: Vm): Record<string, string> {
  const { params, state } = call
  const value = params.text('extraconfig')
  if (value === null) return vm.extraconfig
  if (setting(state, 'enable.additional.vm.configuration', vm.accountid) !== 'true')
    throw denied('Additional VM configuration is not enabled for this account')
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

function checkUserData(call: Call): void {
  const userdata = call.params.text('userdata')
  if (userdata === null) return
  if (!/^[A-Za-z0-9+/\s]*={0,2}$/.test(userdata)) throw invalid('User data needs to be base64 encoded')
  const longest = Number(setting(call.state, 'vm.userdata.max.length'))
  if (userdata.length > longest) throw invalid(`User data has exceeded configurable max length : ${longest}`)
}

function checkScale(
  call: Call,
  vm: Vm,
  offeringid: string,
  size: { cpunumber: number; cpuspeed: number; memory: number },
): void {
  const { state } = call
  const current = state.tables.serviceofferings.get(vm.serviceofferingid)
  const next = state.tables.serviceofferings.get(offeringid)
  if (vm.state !== 'Running' && vm.state !== 'Stopped')
    throw invalid(
      `Unable to upgrade virtual machine ${vm.name} in state ${vm.state}; make sure the virtual machine is stopped/running`,
    )
  if (offeringid === vm.serviceofferingid && next?.iscustomized !== true)
    throw invalid(`Not upgrading vm ${vm.name} since it already has the requested service offering`)
  if (vm.state === 'Stopped') return
  if (setting(state, 'enable.dynamic.scale.vm', vm.zoneid) !== 'true')
    throw denied('Dynamic scaling of running VMs is disabled in the zone')
  if (current?.iscustomized !== true)
    throw invalid('Unable to live scale VM on KVM when current service offering is a "Fixed Offering"')
  if (!vm.isdynamicallyscalable)
    throw internal(`Unable to scale ${vm.name} as it does not have tools to support dynamic scaling`)
  if (current.dynamicscalingenabled !== next?.dynamicscalingenabled)
    throw invalid('Both service offerings need the same dynamic scaling setting')
  const up = size.cpunumber >= vm.cpunumber && size.cpuspeed >= vm.cpuspeed && size.memory >= vm.memory
  const grows = size.cpunumber > vm.cpunumber || size.cpuspeed > vm.cpuspeed || size.memory > vm.memory
  if (!up || !grows)
    throw invalid(
      'While the VM is running, only scalling up it is supported. New service offering should have at least one value greater',
    )
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
