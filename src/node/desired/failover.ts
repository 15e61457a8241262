// The area `failover`: keepalived of a management node, with our configuration, scripts and part of its unit.
import { join } from 'node:path'
import { FailoverDocument } from '#src/contract/nodes/failover-document.ts'
import { failoverScripts } from '#src/kernel/failover-scripts.ts'
import { KEEPALIVED_CONFIG, KEEPALIVED_DROP_IN, keepalivedConfig, keepalivedDropIn } from '../failover/keepalived.ts'
import type { DesiredArea } from './area.ts'
import { type Effect, serviceRuns } from './commands.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { type AreaPlan, createPlannedArea } from './planned-area.ts'

const SCRIPTS_DIR = '/usr/local/lib/groundplane/failover'
const PACKAGES = ['keepalived', 'curl', 'iputils-arping', 'rsync']
const UNIT = 'keepalived'

export function createFailoverArea(place: Place, state_dir: string): DesiredArea {
  const plan = (document: FailoverDocument): AreaPlan => ({
    packages: PACKAGES,
    files: failoverFiles(document),
    effects: failoverEffects(place),
  })
  return createPlannedArea({
    name: 'failover',
    schema: FailoverDocument,
    place,
    state_dir,
    plan,
    // Cleanly: the daemon hands its addresses on.
    before_removal: [
      ['systemctl', 'disable', UNIT],
      ['systemctl', 'stop', UNIT],
    ],
    after_removal: [['systemctl', 'daemon-reload']],
  })
}

function failoverFiles(document: FailoverDocument): ManagedFile[] {
  const scripts = failoverScripts().map(({ name, content }): ManagedFile => ({
    kind: 'whole', path: join(SCRIPTS_DIR, name), text: content, mode: 0o755, replaces: true,
  })) // biome-ignore format: one file
  return [
    ...scripts,
    { kind: 'whole', path: KEEPALIVED_DROP_IN, text: keepalivedDropIn(document, SCRIPTS_DIR) },
    { kind: 'whole', path: KEEPALIVED_CONFIG, text: keepalivedConfig(document, SCRIPTS_DIR) },
  ]
}

/** Reloaded and not restarted: a daemon that holds the addresses keeps them. */
function failoverEffects({ host }: Place): Effect[] {
  return [
    { commands: [['keepalived', '-t', '-f', KEEPALIVED_CONFIG]], after: [KEEPALIVED_CONFIG] },
    { commands: [['systemctl', 'daemon-reload']], after: [KEEPALIVED_DROP_IN] },
    ...serviceRuns(host, UNIT, []),
    { commands: [['systemctl', 'reload', UNIT]], after: [KEEPALIVED_CONFIG] },
  ]
}
