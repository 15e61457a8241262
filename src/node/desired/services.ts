// The area `services`: the control plane on a management node, of the same version as its agent.
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseDocument } from 'yaml'
import { ServicesDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import { type Effect, serviceRuns } from './commands.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { type AreaPlan, createPlannedArea } from './planned-area.ts'

const UNIT = 'groundplane-control'
const UNIT_FILE = `/etc/systemd/system/${UNIT}.service`
const CONFIG = '/etc/groundplane/control.yaml'
const ENVIRONMENT = '/etc/groundplane/control.env'
const ACCOUNT = '/etc/sysusers.d/groundplane.conf'
const KEYS = '/etc/groundplane/keys'
const USER = ['-o', 'groundplane', '-g', 'groundplane'] as const
const RELEASE = join(import.meta.dirname, '../../..')

export function createServicesArea(place: Place, state_dir: string, version: string): DesiredArea {
  return createPlannedArea({
    name: 'services',
    schema: ServicesDocument,
    place,
    state_dir,
    plan: (document) => planServices(document, place, version),
    before_removal: ({ keys }) => [
      ['systemctl', 'stop', UNIT],
      ['systemctl', 'disable', UNIT],
      ...(keys === undefined ? [] : ([['rm', '-f', keys.path]] as const)),
    ],
    after_removal: [['systemctl', 'daemon-reload']],
  })
}

async function planServices(document: ServicesDocument, { host }: Place, version: string): Promise<AreaPlan> {
  if (document.version !== version) {
    const message = `The node has version ${version}, the cluster ${document.version}: install that first.`
    throw new ApiError('DESIRED_CONFLICT', message)
  }
  const [mistake] = parseDocument(document.control_config).errors
  if (mistake !== undefined) throw invalidField('document.control_config', 'it is no valid YAML')
  const unit = await readFile(join(RELEASE, 'deploy', `${UNIT}.service`), 'utf8')
  const hasAccount = async (): Promise<string | null> =>
    /^groundplane:/m.test((await host.read('/etc/passwd')) ?? '') ? null : 'the account groundplane is missing'
  return {
    packages: [],
    files: serviceFiles(document, unit),
    effects: [
      { differs: hasAccount, commands: [['systemd-sysusers']] },
      { commands: [['systemctl', 'daemon-reload']], after: [UNIT_FILE] },
      ...keyEffects(document),
      ...serviceRuns(host, UNIT, [UNIT_FILE, CONFIG, ENVIRONMENT]),
    ],
  }
}

/** The service reads the keys as its own account, and rotates them there. */
function keyEffects({ keys }: ServicesDocument): Effect[] {
  if (keys === undefined) return []
  const commands: Effect['commands'] = [
    ['install', '-d', '-m', '0750', ...USER, dirname(keys.path)],
    ['install', '-m', '0600', ...USER, KEYS, keys.path],
  ]
  return [{ commands, after: [KEYS] }]
}

/** Exported for its test. The environment holds the secrets; the service manager reads it as root. */
export function serviceFiles({ control_config, environment, keys }: ServicesDocument, unit: string): ManagedFile[] {
  const lines = Object.entries(environment).map(
    ([name, value]) => `${name}="${value.replaceAll(/["\\$`]/g, '\\$&')}"\n`,
  )
  return [
    { kind: 'whole', path: ACCOUNT, text: 'u groundplane - "Groundplane control plane" /var/lib/groundplane\n' },
    { kind: 'whole', path: CONFIG, text: control_config },
    { kind: 'whole', path: ENVIRONMENT, text: lines.join(''), mode: 0o600 },
    { kind: 'whole', path: UNIT_FILE, text: unit },
    ...(keys === undefined ? [] : [{ kind: 'whole', path: KEYS, text: keys.text, mode: 0o600 } as const]),
  ]
}
