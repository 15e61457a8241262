// What the platform calls a success is believed only when the platform also shows it: jobs, waited for or not, and calls
// that answer at once.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seededId, wellKnown } from '../../lab/site.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { clientOf } from '../lab/cloudstack-client.ts'
import { until } from '../support/until.ts'
import { vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step' })
})
after(() => lab.close())
const api = vmApi(() => lab)

const { vms, networks, disk_offerings, isos, service_offerings } = wellKnown
const WEB = vms['web-01']
const DB = vms['db-01']
const LOOSE = seededId('volume', `${DB}/DATADISK`)
const ROOT = seededId('volume', `${DB}/ROOT`)
const STOPPED = vms['legacy-crm']
const IP = seededId('address', '203.0.113.60')
const SNAPSHOT = seededId('vmsnapshot', 'web-02')

const tables = () => lab.platform.state.tables
const machine = (id: string) => {
  const vm = tables().vms.get(id)
  assert.ok(vm !== null)
  return vm
}
const otherHost = (id: string) =>
  [...tables().hosts.values()].find(
    (host) => host.id !== machine(id).hostid && host.clusterid === wellKnown.clusters['cluster-a'],
  )?.id

interface Case {
  command: string
  method?: string
  path: string
  body: () => object | undefined
  /** Where it is found out. */
  step?: string
  /** What is found instead. */
  says: RegExp
}

/** A machine of acme's own network that no public address leads to. */
const inAcme = () =>
  [...tables().vms.values()].find(
    (vm) => vm.nics[0]?.networkid === networks['acme-net'] && tables().addresses.by('vm', vm.id).length === 0,
  )?.id

const CASES: Case[] = [
  {
    command: 'startVirtualMachine',
    path: '/compute/vms/start',
    body: () => ({ virtual_machine_id: STOPPED }),
    says: /virtual machine is Stopped, expected Running/,
  },
  {
    command: 'stopVirtualMachine',
    path: '/compute/vms/stop',
    body: () => ({ virtual_machine_id: vms['web-03'] }),
    says: /virtual machine is Running, expected Stopped/,
  },
  {
    command: 'destroyVirtualMachine',
    path: '/compute/vms/destroy',
    body: () => ({ virtual_machine_id: vms.print }),
    says: /expected Destroyed or Expunging/,
  },
  {
    command: 'attachVolume',
    path: '/compute/vms/attach-disk',
    body: () => ({ volume_id: LOOSE, virtual_machine_id: DB }),
    says: /volume has nothing as virtual_machine_id/,
  },
  {
    command: 'attachVolume',
    path: '/compute/vms/create-and-attach-disk',
    body: () => ({ virtual_machine_id: vms.wiki, disk_offering_id: disk_offerings['ssd-20'] }),
    step: 'attach',
    says: /volume has nothing as virtual_machine_id/,
  },
  {
    command: 'deployVirtualMachine',
    path: '/compute/vms/provision',
    body: () => ({
      zone_id: wellKnown.zone,
      template_id: wellKnown.templates['Debian 12'],
      service_offering_id: service_offerings.small,
      network_ids: [networks['office-shared']],
    }),
    says: /virtual machine is Error, expected Running/,
  },
  {
    command: 'resizeVolume',
    method: 'PUT',
    path: '/compute/vms/update-disksize',
    body: () => ({ volume_id: ROOT, size_gb: 64 }),
    says: /size_bytes, expected 68719476736 or more/,
  },
  {
    command: 'attachIso',
    path: '/compute/vms/attachiso',
    body: () => ({ virtual_machine_id: vms.wiki, iso_id: isos['virtio-win'] }),
    says: /has nothing as iso_id/,
  },
  {
    command: 'addNicToVirtualMachine',
    path: '/compute/vms/nic/add',
    body: () => ({ virtual_machine_id: WEB, network_id: networks['storage-l2'] }),
    says: /no such NIC/,
  },
  {
    command: 'migrateVirtualMachine',
    path: '/compute/vms/migrate',
    body: () => ({ virtual_machine_id: vms.mail, host_id: otherHost(vms.mail) }),
    says: /as host_id, expected/,
  },
  {
    command: 'scaleVirtualMachine',
    path: '/compute/vms/scale',
    body: () => ({ virtual_machine_id: vms['erp-db'], service_offering_id: service_offerings.custom, cpu_cores: 6, memory_mb: 6144 }),
    says: /as cpu_cores, expected 6 and has/,
  }, // biome-ignore format: one record
  {
    command: 'updateVMAffinityGroup',
    path: '/compute/vms/update-affinity',
    body: () => ({ virtual_machine_id: vms['erp-app'], affinity_group_ids: [] }),
    says: /affinity_groups, expected none/,
  },
  {
    command: 'deleteVMSnapshot',
    path: '/compute/vms/snapshots/delete',
    body: () => ({ snapshot_id: SNAPSHOT }),
    says: /snapshot is still there/,
  },
  {
    command: 'deleteSnapshot',
    path: '/compute/volumes/snapshots/delete',
    body: () => ({ snapshot_id: seededId('snapshot', 'db-01') }),
    says: /snapshot is still there/,
  },
  {
    command: 'restoreVirtualMachine',
    path: '/compute/vms/restore',
    body: () => ({ source: 'template', virtual_machine_id: vms.jenkins }),
    says: /as id, expected another/,
  },
  {
    command: 'createPortForwardingRule',
    path: '/network/port-forwarding',
    body: () => ({ protocol: 'tcp', public_ip_id: IP, virtual_machine_id: inAcme(), public_port: 8443, private_port: 443 }),
    says: /no such port-forwarding rule/,
  }, // biome-ignore format: one record
]

const AT_ONCE: Case[] = [
  {
    command: 'updateVirtualMachine',
    path: '/compute/vms/update',
    body: () => ({ virtual_machine_id: WEB, display_name: 'Other' }),
    says: /as display_name, expected Other/,
  },
  {
    command: 'recoverVirtualMachine',
    path: '/compute/vms/recover',
    body: () => ({ virtual_machine_id: vms['old-test'] }),
    says: /is Destroyed, expected Stopped/,
  },
  {
    command: 'manageGpuDevice',
    path: '/infrastructure/gpu/devices/manage',
    body: () => ({ ids: [[...tables().gpudevices.values()].find((one) => one.managedstate === 'Managed')?.id] }),
    says: /as managed_state, expected Managed/,
  },
  {
    command: 'updateDiskOffering',
    path: '/catalog/serviceofferings/diskoffering/update',
    body: () => ({ id: disk_offerings['ssd-20'], display_text: 'Twenty' }),
    says: /as display_text, expected Twenty/,
  },
  {
    command: 'archiveAlerts',
    path: '/alerts/archive',
    body: () => ({ ids: [[...tables().alerts.values()].find((one) => one['archived'] !== true)?.id] }),
    says: /1 alert is open still/,
  },
  {
    command: 'enableStaticNat',
    path: `/ddi/public-ips/${IP}/associate`,
    body: () => ({ vm_id: inAcme() }),
    says: /as associated, expected true/,
  },
  {
    command: 'updateResourceLimit',
    method: 'PUT',
    path: `/admin/tenants/${wellKnown.domains.acme}/limits`,
    body: () => ({ snapshots: 77 }),
    says: /took snapshots = 77, but shows/,
  },
]

/** A site in which every case is allowed. */
async function prepare(): Promise<void> {
  lab.platform.reset()
  await api.put('volumes', LOOSE, { virtualmachineid: null, deviceid: null })
  await api.put('vms', vms['erp-db'], { state: 'Stopped' })
  await api.put('vms', vms['erp-app'], {
    state: 'Stopped',
    affinitygroupids: [[...tables().affinitygroups.values()][0]?.id],
  })
  await api.put('vms', vms.mail, { state: 'Running' })
  for (const rule of tables().rules.values()) tables().rules.remove(rule.id)
  const address = tables().addresses.get(IP)
  assert.ok(address !== null)
  tables().addresses.put({
    ...address,
    state: 'Allocated',
    accountid: wellKnown.accounts.acme,
    associatednetworkid: networks['acme-net'],
  })
  const device = [...tables().gpudevices.values()].find((one) => one.managedstate === 'Managed')
  assert.ok(device !== undefined)
}

test('a job that the platform only pretends to have done fails, whether it is waited for or not', async () => {
  for (const wait of [false, true]) {
    await prepare()
    const asked = CASES.map(async ({ command, method = 'POST', path, body, step = 'verify', says }) => {
      await api.control('pretend', { command, times: 1 })
      const reply = wait ? await api.done(method, path, body()) : await lab.call(method, path, body())
      if (wait) {
        assert.deepEqual([reply.status, reply.body.code], [500, 'CHANGE_NOT_SEEN'], `${command}: ${reply.text}`)
        assert.match(reply.text, says, command)
        return
      }
      assert.ok(reply.status < 300, `${command}: ${reply.text}`)
      const job = await until(`${command} ends`, async () => {
        lab.platform.step()
        const found = await lab.call('GET', `/jobs/${reply.body.job_id}`)
        return found.body.job_status === 'running' ? undefined : found.body
      })
      assert.deepEqual(
        [job.job_status, job.failure_code, job.failed_step],
        ['failed', 'CHANGE_NOT_SEEN', step],
        command,
      )
      assert.match(job.failure_reason, says, command)
    })
    await Promise.all(asked)
  }
})

test('a call that answers at once is read back before it is answered', async () => {
  await prepare()
  const asked = AT_ONCE.map(async ({ command, method = 'POST', path, body, says }) => {
    const order = body()
    if (command === 'manageGpuDevice') {
      const [id] = (order as { ids: string[] }).ids
      await api.put('gpudevices', String(id), { managedstate: 'Unmanaged' })
    }
    await api.control('pretend', { command, times: 1 })
    const reply = await lab.call(method, path, order)
    assert.deepEqual([reply.status, reply.body.code], [500, 'CHANGE_NOT_SEEN'], `${command}: ${reply.text}`)
    assert.match(reply.text, says, command)
  })
  await Promise.all(asked)
})

test('what another operation of the same machine changed meanwhile is no failure', async () => {
  const started = await api.post('/compute/vms/start', { virtual_machine_id: STOPPED })
  assert.equal(started.status, 200, started.text)
  lab.platform.step()
  assert.equal(machine(STOPPED).state, 'Running')
  // Somebody stops it at the platform, and that is over before we look.
  await clientOf(lab.platform).job('stopVirtualMachine', { id: STOPPED })
  assert.equal(machine(STOPPED).state, 'Stopped')
  const job = await api.ended(started)
  assert.equal(job.job_status, 'completed', job.failure_reason)
})

test('a platform that cannot be asked for a moment is asked again', async () => {
  const started = await api.post('/compute/vms/detach-disk', { volume_id: LOOSE })
  assert.equal(started.status, 200, started.text)
  await api.control('fail', { command: 'listVolumes', code: 503, text: 'maintenance', times: 2 })
  const job = await api.ended(started)
  assert.equal(job.job_status, 'completed', job.failure_reason)
})

test('what leaves no trace is done when the platform says so, and the job says that nobody looked', async () => {
  const reply = await api.post('/compute/vms/reboot', { virtual_machine_id: WEB })
  const job = await api.ended(reply)
  assert.equal(job.job_status, 'completed', job.failure_reason)
  const step = job.steps.find(({ name }) => name === 'verify')
  assert.equal(step?.status, 'skipped')
})

test('a job that the platform lost is judged by what the platform shows', async () => {
  for (const done of [true, false]) {
    lab.platform.reset()
    const reply = await api.post('/compute/vms/detach-disk', { volume_id: LOOSE })
    assert.equal(reply.status, 200, reply.text)
    if (done) await api.put('volumes', LOOSE, { virtualmachineid: null, deviceid: null })
    await api.control('cancel-job', { jobid: reply.body.job_id })
    const job = await api.ended(reply)
    assert.equal(job.job_status, done ? 'completed' : 'failed', job.failure_reason)
    if (done) continue
    assert.equal(job.failure_code, 'JOB_INTERRUPTED')
    assert.match(job.failure_reason, /shows that the volume has \S+ as virtual_machine_id, expected nothing/)
  }
})
