// A lab with simulated BMCs whose records are stored: one of each profile, each at an address of its own.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROFILE_NAMES, type ProfileName } from '../../lab/redfish/profiles.ts'
import { type RedfishLab, type SimulatedBmc, startRedfish } from '../../lab/redfish/server.ts'
import type { Speed } from '../../lab/redfish/state.ts'
import { wipeImage } from '../../lab/redfish/wipe-image.ts'
import type { Reply } from './http.ts'
import { type Lab, type LabOptions, startLab } from './start-lab.ts'
import { tempFolder } from './temp-folder.ts'

export interface BmcSite {
  lab: Lab
  redfish: RedfishLab
  bmcs: Record<ProfileName, SimulatedBmc>
  /** Folder of the images. */
  iso_dir: string
  /** POSTs below /vendora-inventory/ about this BMC. */
  ask(
    bmc: SimulatedBmc,
    path: string,
    body?: object,
    options?: { token?: string; headers?: Record<string, string> },
  ): Promise<Reply>
  /** What the BMC was asked, as "METHOD path by". */
  asked(bmc: SimulatedBmc): string[]
  close(): Promise<void>
}

export const FAST: Speed = {
  power_ms: 20, shutdown_ms: 20, boot_ms: 20, job_ms: 30, update_ms: 150, dead_ms: 300, not_ready_ms: 150,
} // biome-ignore format: one record

export const ISO_FILE = 'small.iso'
/** Wipes the machine that starts from it, where the test plays it. */
export const WIPE_FILE = 'wipe.iso'

/** Every operation that speaks to a BMC, with a body that would do. */
export const BMC_CALLS: Readonly<Record<string, object>> = {
  powerstate: {},
  poweraction: { reset_type: 'ForceOff' },
  bios: {},
  'bios/patch': { attributes: { BootMode: 'Legacy' } },
  'bios/pending': {},
  'bios/restart': {},
  'bios/update': { image_uri: 'http://10.0.0.5/bios.exe' },
  collect: {},
  'iso/mount': { control_node_ip: '127.0.0.1', iso_file: ISO_FILE },
  'jobs/list': {},
  'jobs/deleteall': {},
}

export const codeOf = ({ status, body }: Reply): string => `${status} ${body?.code}`

export interface BmcSiteOptions extends LabOptions {
  bmc?: Record<string, unknown>
  /** A machine starts from an image. */
  onBoot?: (bmc: SimulatedBmc, image: string) => Promise<void>
}

export async function startBmcSite(options: BmcSiteOptions = {}): Promise<BmcSite> {
  const played: Promise<void>[] = []
  const redfish: RedfishLab = await startRedfish({
    bmcs: PROFILE_NAMES.map((profile, index) => ({ name: profile, profile, host: `127.0.77.${index + 11}` })),
    speed: FAST,
    onBoot(name, image) {
      const bmc = redfish.bmcs[name]
      if (bmc !== undefined) played.push(options.onBoot?.(bmc, image) ?? Promise.resolve())
    },
  })
  const iso_dir = join(tempFolder('gp-iso-'), 'images')
  mkdirSync(iso_dir)
  writeFileSync(join(iso_dir, ISO_FILE), Buffer.alloc(100_000, 7))
  writeFileSync(join(iso_dir, WIPE_FILE), wipeImage())
  const lab = await startLab({
    ...options,
    config: {
      bmc: {
        allowed_networks: ['127.0.77.0/24'], timeout_ms: 15_000, follow_ms: 20, watch_ms: 100, patience_seconds: 6, iso_dir, ...options.bmc,
      },
      ...options.config,
    },
  }) // biome-ignore format: a record
  const site: BmcSite = {
    lab,
    redfish,
    bmcs: redfish.bmcs as BmcSite['bmcs'],
    iso_dir,
    ask: (bmc, path, body = {}, more = {}) =>
      lab.call('POST', `/vendora-inventory/${path}`, { bmc_ip: bmc.host, ...body }, more),
    asked: ({ name }) =>
      redfish.calls
        .list()
        .filter(({ command }) => command.startsWith(`${name} `))
        .map(({ command, params }) => `${command.slice(name.length + 1)} ${params.by ?? ''}`),
    async close() {
      await Promise.allSettled(played)
      await lab.close()
      await redfish.close()
    },
  }
  for (const bmc of Object.values(redfish.bmcs)) await putRecord(site, bmc)
  return site
}

export async function putRecord(
  { lab }: Pick<BmcSite, 'lab'>,
  { host, port, username, password }: SimulatedBmc,
  more: object = {},
): Promise<void> {
  const reply = await lab.call('PUT', `/vendora-inventory/bmcs/${host}`, { username, password, port, ...more })
  assert.equal(reply.status, 200, reply.text)
}
