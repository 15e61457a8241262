// Every group of commands against the real service in front of the simulated platform, with names in place of ids.
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { commandName } from '../../cli/command-names.ts'
import { fieldsOf } from '../../cli/fields.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import { areas } from '#src/contract/index.ts'
import { routeEffect } from '#src/contract/route.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'
import type { CliResult } from './cli-process.ts'
import { runHere } from './in-process.ts'

let lab: Lab
let ticking: NodeJS.Timeout
before(async () => {
  lab = await startLab({ time: 'step', addresses: true })
  ticking = setInterval(() => lab.platform.step(), 20)
})
after(async () => {
  clearInterval(ticking)
  await lab?.close()
})

/** A command line as it is typed; names with blanks stand in quotes. */
function run(line: string): Promise<CliResult> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
  return runHere(lab, words)
}

async function done(line: string): Promise<string> {
  const { code, stdout, stderr } = await run(line)
  assert.equal(code, 0, `${line}: ${stderr}`)
  return stdout
}

test('every list of the platform that needs no input is a table', async () => {
  // Cameras answer nothing without an NVR, and this lab has none.
  const reads = areas
    .filter(({ upstream_status }) => upstream_status === 500)
    .flatMap((area) =>
      Object.entries(area.routes).flatMap(([operation, route]) => {
        const plain = (route.kind ?? 'json') === 'json' && routeEffect(route) === 'read' && route.runs_on !== 'node'
        const open = ['viewer', 'operator', 'admin'].includes(route.access)
        const needs = fieldsOf(operation, route, area).some((field) => field.required)
        return plain && open && !needs ? [{ operation, ...commandName(operation, area) }] : []
      }),
    )
  assert.ok(reads.length > 45, `only ${reads.length} reads were found`)
  // These demand one of several fields, or find nothing before the first job.
  const refused: Readonly<Record<string, number>> = {
    importCandidateList: 2,
    alertIdGet: 2,
    timelineList: 2,
    kvmPowerGet: 2,
    guestNetworkJobLatest: 4,
    firewallRuleList: 2,
  }
  for (const { operation, group, command } of reads) {
    const { code, stdout, stderr } = await run(`${group} ${command}`)
    assert.equal(code, refused[operation] ?? 0, `${group} ${command}: ${stderr}`)
    if (code === 0) assert.ok(stdout.trim() !== '' || stderr.includes('(none)'), `${group} ${command}: ${stderr}`)
  }
})

test('addresses are kept from the command line: a zone goes through a file, an address is taken and released', async () => {
  const folder = tempFolder('gp-zone-')
  const file = join(folder, 'lab.zone')
  writeFileSync(file, await done('dns-zone export lab.example'))
  assert.match(readFileSync(file, 'utf8'), /kvm-01 3600 IN A 10\.20\.0\.11/)
  appendFileSync(file, 'from-a-file 60 IN A 10.20.0.77\n')
  await done(`dns-zone import lab.example --overwrite --zone-file @${file}`)
  assert.match(await done('dns-record list --zone-name lab.example --search from-a-file'), /10\.20\.0\.77/)
  assert.equal((await run(`dns-zone import lab.example --zone-file @${file}.missing`)).code, 2)

  await done('ipam-site create --slug berlin --name Berlin')
  await done('ipam-role create --slug guest --name Guest')
  await done('ipam-prefix create 10.77.0.0/29 --gateway 10.77.0.1')
  const [prefix] = JSON.parse(await done('ipam-prefix list --json')).data.prefixes
  assert.match(await done(`ipam-address allocate ${prefix.id} --owner-kind node --owner-id n1`), /10\.77\.0\.2/)
  const [address] = JSON.parse(await done('ipam-address list --owner-id n1 --json')).data.addresses
  await done(`ipam-address release ${address.id}`)
  assert.match(await done('ipam-role list'), /guest/)
})

test('a forwarding rule is made, listed and removed by the names of address, machine and rule', async () => {
  const address = '203.0.113.60'
  const { addresses } = lab.platform.state.tables
  const free = addresses.get(seededId('address', address))
  assert.ok(free !== null)
  assert.match(await done('network list'), /acme-net/)
  assert.match(await done('zone list'), /Frankfurt-1/)
  const acquired = await done(
    `ip acquire --zone Frankfurt-1 --network acme-net --ip-address ${address} --domain acme --account acme --wait`,
  )
  assert.match(acquired, /203\.0\.113\.60/)
  const machine = [...lab.platform.state.tables.vms.values()].find(
    (vm) =>
      vm.state === 'Running' &&
      vm.nics.some((nic) => nic.networkid === wellKnown.networks['acme-net']) &&
      addresses.by('vm', vm.id).length === 0,
  )
  assert.ok(machine !== undefined)
  await done(
    `forward create --public-ip-id ${address} --virtual-machine-id ${machine.name} --protocol tcp --public-port 8443 --private-port 443 --wait`,
  )
  const listed = await done(`forward list ${address}`)
  assert.match(listed, new RegExp(`${address} .* 8443 .* ${machine.name} `))
  await done(`forward delete ${address}:8443/tcp --wait`)
  assert.doesNotMatch(await done(`forward list --ip ${address}`), /8443/)
  await done(`ip associate ${address} --vm ${machine.name}`)
  assert.match(await done(`ip list --vm ${machine.name}`), /203\.0\.113\.60/)
  await done(`ip disassociate ${address}`)
  await done(`ip release ${address} --wait`)
  assert.equal(addresses.get(free.id)?.state, 'Free')
})

test('a disk is made, detached and attached, and a snapshot made, found and removed by names alone', async () => {
  const { vms } = lab.platform.state.tables
  const machine = [...vms.values()].find((vm) => vm.state === 'Stopped' && vm.name !== '')
  assert.ok(machine !== undefined)
  const vm = machine.name
  await done(`vm disk-create ${vm} --name spare-disk --disk-offering ssd-20 --wait`)
  assert.match(await done(`volume list --vm ${vm}`), /spare-disk/)
  await done(`vm disk-detach ${vm} --volume spare-disk --wait`)
  await done(`vm disk-attach --virtual-machine-id ${vm} --volume-id spare-disk --wait`)
  assert.match(await done(`volume list --vm ${vm} --id spare-disk`), /spare-disk/)
  await done(`vm snapshot-create ${vm} --name "before the move" --wait`)
  assert.match(await done(`vm snapshot-list ${vm}`), /before the move/)
  await done('vm snapshot-delete "before the move" --wait')
  assert.doesNotMatch(await done(`vm snapshot-list ${vm}`), /before the move/)
})

test('GPUs are listed by card, host and bus address, and a tenant is made and limited by its name', async () => {
  assert.match(await done('gpu card-list --id "NVIDIA A2"'), /NVIDIA A2/)
  const devices = JSON.parse(await done('gpu device-list --host kvm-01 --card "NVIDIA A2" --json')) as {
    gpu_devices: { id: string; bus_address: string; card_name: string; host_name: string }[]
  }
  assert.ok(devices.gpu_devices.length > 0)
  for (const { card_name, host_name } of devices.gpu_devices)
    assert.deepEqual([card_name, host_name], ['NVIDIA A2', 'kvm-01'])
  const [device] = devices.gpu_devices
  assert.match(await done(`gpu list --id kvm-01/${device?.bus_address}`), new RegExp(device?.id ?? 'none'))
  assert.match(await done('gpu profile-list --card "NVIDIA A16"'), /A16-4Q/)
  await done('tenant create made-by-name --wait')
  await done('tenant limits-set made-by-name --instances 5')
  assert.match(await done('tenant limits-get made-by-name'), /instances +5/)
})

test('NICs, their addresses, pods, offerings and operating systems are found by what shows them', async () => {
  const { vms } = lab.platform.state.tables
  const machine = [...vms.values()].find((vm) => vm.state === 'Running' && vm.nics.length === 1)
  assert.ok(machine !== undefined)
  const network = lab.platform.state.tables.networks.get(machine.nics[0]?.networkid)?.name ?? ''
  await done(`vm nic-ip-add ${machine.name} --nic ${network} --wait`)
  const nics = JSON.parse(await done(`vm nic-list ${machine.name} --json`)) as {
    nics: { id: string; secondary_ips: { ip_address: string }[] }[]
  }
  const address = nics.nics[0]?.secondary_ips[0]?.ip_address
  assert.ok(address !== undefined)
  await done(`vm nic-ip-remove --secondary-ip ${address} --wait`)
  const found = JSON.parse(
    await done('vm list --pod Frankfurt-1-pod-1 --template "Debian 12" --service-offering small --json'),
  ) as { virtual_machines: { template_name: string; service_offering_name: string }[] }
  for (const one of found.virtual_machines) {
    assert.deepEqual([one.template_name, one.service_offering_name], ['Debian 12', 'small'])
  }
  const missing = await run(`vm update ${machine.name} --os-type "Plan 9"`)
  assert.equal(missing.code, 4)
  assert.match(missing.stderr, /there is no OS type named "Plan 9"; there is .*"Debian GNU\/Linux 12 \(64-bit\)"/)
})

test('an unknown name of any kind changes nothing and has the exit code of a missing thing', async () => {
  const lines: [string, string][] = [
    ['vm stop nobody', 'virtual machine'],
    ['network restart nobody', 'network'],
    ['ip release 198.51.100.250', 'public IP'],
    ['tenant limits-set nobody --instances 1', 'tenant'],
    ['vm disk-attach web-01 --volume nobody', 'volume'],
    ['gpu profile-create --name p --card nobody', 'GPU card'],
    ['forward delete 203.0.113.10:1/tcp', 'forwarding rule'],
    ['vm iso-attach web-01 --iso nobody', 'ISO'],
    ['vm snapshot-revert nobody', 'snapshot of a virtual machine'],
    ['vm scale web-01 --service-offering nobody', 'service offering'],
    ['gpu manage --ids 00:00.0', 'GPU device'],
  ]
  for (const [line, what] of lines) {
    const { code, stderr } = await run(line)
    assert.equal(code, 4, `${line}: ${stderr}`)
    assert.match(stderr, new RegExp(`there is no ${what} named`), line)
  }
})

/** Tenants are not here: their names are unique. */
test('a name that two things carry is refused with both ids, for every kind of thing', async () => {
  const { vms, networks, addresses, volumes, gpucards, gpudevices } = lab.platform.state.tables
  const [first_volume, second_volume] = [...volumes.values()]
  assert.ok(first_volume !== undefined && second_volume !== undefined)
  const twins: [string, string, string][] = []
  const rename = <R extends { id: string }>(
    table: { get(id: string): R | null; put(record: R): R },
    [one, other]: [string, string],
    set: Partial<R>,
    line: string,
  ): void => {
    for (const id of [one, other]) {
      const record = table.get(id)
      assert.ok(record !== null, line)
      table.put({ ...record, ...set })
    }
    twins.push([line, one, other])
  }
  const address = (ip: string): string => seededId('address', ip)
  const owned = [...addresses.values()].filter((one) => one.state === 'Allocated' && one.accountid !== null).slice(0, 2)
  rename(vms, [wellKnown.vms['web-01'], wellKnown.vms['web-02']], { name: 'twin' }, 'vm stop twin')
  rename(
    networks,
    [wellKnown.networks['acme-net'], wellKnown.networks['storage-l2']],
    { name: 'twin' },
    'network restart twin',
  )
  rename(
    addresses,
    [owned[0]?.id ?? address('none'), owned[1]?.id ?? address('none')],
    { ipaddress: '203.0.113.99' },
    'ip release 203.0.113.99',
  )
  rename(volumes, [first_volume.id, second_volume.id], { name: 'twin' }, 'vm disk-resize twin --size-gb 500')
  rename(
    gpucards,
    [wellKnown.gpu_cards['NVIDIA A2'], wellKnown.gpu_cards['NVIDIA A16']],
    { name: 'twin' },
    'gpu profile-create --name p --card twin',
  )
  // No renaming here: hosts of one make have their cards in the same slot.
  const [one, other] = [...gpudevices.values()].filter((device) => device.busaddress === '3b:00.0')
  twins.push(['gpu manage --ids 3b:00.0', one?.id ?? 'none', other?.id ?? 'none'])
  for (const [line, one, other] of twins) {
    const { code, stderr } = await run(line)
    assert.equal(code, 5, `${line}: ${stderr}`)
    for (const id of [one, other]) assert.ok(stderr.includes(id), `${line}: ${stderr}`)
  }
})

test('a word finds things of every kind, in a table, as JSON and by kind', async () => {
  const { tables } = lab.platform.state
  const vm = tables.vms.get(wellKnown.vms['loki'])
  const address = vm?.nics.find((nic) => nic.ipaddress !== null)?.ipaddress ?? ''
  await until('the machine is known', async () => (await done(`search ${address} --kind vm`)).includes('loki'))
  const tenant = tables.domains.get(tables.accounts.get(vm?.accountid)?.domainid)?.name ?? ''
  await until('its tenant stands beside it by name', async () =>
    (await done('search loki --kind vm')).split('\n').some((line) => line.includes('loki') && line.includes(tenant)),
  )
  assert.match(await done('search kvm-01'), /dns_record +kvm-01\.lab\.example +kvm-01\.lab\.example/)
  const { results } = JSON.parse(await done(`search ${address} --json`))
  assert.deepEqual([results[0].kind, results[0].name, results[0].rank], ['vm', 'loki', 'exact'])
  const short = await run('search lab --limit 1')
  assert.match(short.stderr, /there is more/)
  assert.equal((await run('search loki --kind car')).code, 2)
})
