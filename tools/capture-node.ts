// Records the machine it runs on into a folder that a captured host answers from (format: lab/hosts/README.md).
// Usage: node tools/capture-node.ts FOLDER [CONFIG.json]   (as root; it reads and changes nothing)
// CONFIG.json holds the network configuration of the node. Serial numbers, addresses and names are recorded as they
// are: look through the folder before it leaves your site.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { linuxHost } from '../src/kernel/host.ts'
import { frrNode } from '../src/node/frr/node.ts'
import { type NodeNetConfig, parseNodeNetConfig } from '../src/node/net/config.ts'
import { netHandlers } from '../src/node/net/index.ts'
import { createNetSampler } from '../src/node/net/sampler.ts'
import { type Recording, recordingHost } from './recording-host.ts'
import { createStorageMonitor } from '../src/node/storage/monitor.ts'

const [folder, config_path] = process.argv.slice(2)
if (folder === undefined) {
  process.stderr.write('usage: node tools/capture-node.ts FOLDER [CONFIG.json]\n')
  process.exitCode = 2
} else {
  const given: unknown = config_path === undefined ? {} : JSON.parse(await readFile(config_path, 'utf8'))
  const config = parseNodeNetConfig(given)
  await save(folder, await capture(config), config)
}

/** Lets every collector of the agent read once. */
async function capture(config: NodeNetConfig): Promise<Recording> {
  const { host, recording } = recordingHost(linuxHost())
  const samples = createNetSampler(host)
  await samples.tick()
  const { handlers } = netHandlers({ host, config, samples })
  const none = { params: undefined, body: undefined }
  await handlers.nodeSummary({ ...none, query: undefined }, undefined)
  await handlers.agentNicsEligible({ ...none, query: { include_all: true } }, undefined)
  await host.run('ip', ['-j', '-d', 'link'])
  await frrNode(host, {})
  await createStorageMonitor(host).refresh()
  return recording
}

async function save(dir: string, recording: Recording, config: NodeNetConfig): Promise<void> {
  for (const path of recording.folders.keys()) await mkdir(join(dir, 'files', path), { recursive: true })
  for (const [path, names] of recording.folders) {
    // What was listed and never read still has to be listed.
    for (const name of names) if (!isKnown(recording, `${path}/${name}`)) await put(join(dir, 'files', path, name), '')
  }
  for (const [path, text] of recording.files) await put(join(dir, 'files', path), text)
  for (const [tool, commands] of recording.commands) {
    const rows = [...commands.values()].map((one) => `  ${JSON.stringify(one)}`)
    await put(join(dir, 'commands', `${tool}.json`), `[\n${rows.join(',\n')}\n]\n`)
  }
  await put(join(dir, 'links.json'), pretty(Object.fromEntries(recording.links)))
  const hostname = recording.files.get('/proc/sys/kernel/hostname')?.trim() ?? ''
  await put(join(dir, 'host.json'), pretty({ hostname, description: '', made_from: 'a recording', node_net: config }))
}

function isKnown(recording: Recording, path: string): boolean {
  const known = [...recording.files.keys(), ...recording.links.keys(), ...recording.folders.keys()]
  return known.some((one) => one === path || one.startsWith(`${path}/`))
}

function pretty(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}
