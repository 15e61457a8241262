// First boots of NVR machines on the lab's platform: a network whose addresses this machine can listen on, the template, and for
// each machine of it that runs a simulated NVR at its address, with what its user data says.
import { randomUUID } from 'node:crypto'
import { parse } from 'yaml'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { type NvrLab, startNvr } from '../../lab/nvr/server.ts'
import { wellKnown } from '../../lab/site.ts'

export const TEMPLATE = 'groundplane-nvr'

export interface NvrSite {
  network_id: string
  /** First three parts of the addresses of the network. */
  subnet: string
  /** NVRs that have booted, by machine. */
  booted: Map<string, NvrLab>
  /** What a machine of the template boots with; throwing leaves it dark. */
  boot: (files: Map<string, string>, address: string) => Promise<NvrLab>
  stop(): Promise<void>
}

let last = process.pid % 200

export function startNvrSite(platform: CloudStackLab, options: { ready?: boolean } = {}): NvrSite {
  const { tables } = platform.state
  last += 1
  const subnet = `127.${20 + (Math.floor(process.pid / 200) % 80)}.${last % 250}`
  const network_id = randomUUID()
  const like = tables.networks.get(wellKnown.networks['acme-net'])
  const image = tables.templates.get(wellKnown.templates['Debian 12'])
  if (like === null || image === null) throw new Error('the site has changed')
  const admin = { accountid: wellKnown.accounts.admin }
  const range = { cidr: `${subnet}.0/24`, gateway: `${subnet}.1`, netmask: '255.255.255.0' }
  tables.networks.put({
    ...like,
    ...range,
    ...admin,
    id: network_id,
    name: `cameras-${last}`,
    displaytext: 'Cameras',
    vlan: 900 + last,
  })
  if (options.ready !== false) tables.templates.put({ ...image, ...admin, id: randomUUID(), name: TEMPLATE })
  const site: NvrSite = { network_id, subnet, booted: new Map(), boot, stop }
  const ticking = setInterval(() => void tick(), 20)
  let ticks: Promise<void> = Promise.resolve()
  const tick = (): Promise<void> => (ticks = ticks.then(step, step))
  const step = async (): Promise<void> => {
    for (const vm of tables.vms.filter(isNvr)) {
      if (vm.state !== 'Running' || site.booted.has(vm.id)) continue
      const address = vm.nics[0]?.ipaddress ?? ''
      site.booted.set(vm.id, await site.boot(filesOf(vm.userdata ?? ''), address))
    }
    for (const [id, nvr] of site.booted) {
      if (tables.vms.get(id)?.state === 'Running') continue
      site.booted.delete(id)
      await nvr.close()
    }
  }
  function isNvr(vm: { templateid: string | null }): boolean {
    return tables.templates.get(vm.templateid)?.name === TEMPLATE
  }
  async function stop(): Promise<void> {
    clearInterval(ticking)
    await ticks.catch(() => undefined)
    for (const nvr of site.booted.values()) await nvr.close()
  }
  return site
}

function boot(files: Map<string, string>, address: string): Promise<NvrLab> {
  const file = (end: string) => [...files].find(([path]) => path.endsWith(end))?.[1] ?? ''
  const { password } = JSON.parse(file('admin-password.json')) as { password: string }
  return startNvr({
    address,
    port: 8971,
    admin_password: password,
    config_file: file('config.yml').replace('ADDRESS_OF_THIS_MACHINE', address),
    certificate: { cert: file('fullchain.pem'), key: file('privkey.pem') },
    restart: { down_ms: 100, starting_ms: 100 },
  })
}

function filesOf(user_data: string): Map<string, string> {
  const text = Buffer.from(user_data, 'base64').toString('utf8')
  const { write_files } = parse(text) as { write_files: { path: string; content: string }[] }
  return new Map(write_files.map(({ path, content }) => [path, content]))
}
