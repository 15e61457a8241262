// Commands of desired state: argument vectors with a time limit, packages, and units of the service manager.
import { ApiError } from '#src/kernel/errors.ts'
import type { Host, RunResult } from '#src/kernel/host.ts'

export type Command = readonly [tool: string, ...args: string[]]

/** Something beyond files that must be so. */
export interface Effect {
  /** Null: it is so. Else one sentence. Left out: nobody can tell, so the commands run whenever something has changed. */
  differs?: () => Promise<string | null>
  /** None: it can only be checked. */
  commands: readonly Command[]
  /** The commands run also when one of these files was written. */
  after?: readonly string[]
  timeout_ms?: number
}

const TIMEOUT_MS = 60_000
const PACKAGES_TIMEOUT_MS = 30 * 60_000

export async function runCommand(host: Host, command: Command, timeout_ms = TIMEOUT_MS): Promise<RunResult> {
  const [tool, ...args] = command
  const run = await host.run(tool, args, { timeout_ms })
  if (run.outcome === 'exited' && run.exit_code === 0) return run
  const [first = ''] = `${run.stderr.trim()}\n${run.stdout.trim()}`.trim().split('\n')
  const why =
    run.outcome === 'missing' ? 'is not installed' : run.outcome === 'timeout' ? 'took too long' : `failed: ${first}`
  throw new ApiError('DESIRED_FAILED', `${[tool, ...args.slice(0, 2)].join(' ')} ${why}.`)
}

/** Those of the packages that are not installed. */
export async function missingPackages(host: Host, packages: readonly string[]): Promise<string[]> {
  if (packages.length === 0) return []
  const args = ['-W', '-f', '${db:Status-Status} ${Package}\\n', '--', ...packages]
  // Packages that nobody ever heard of make it fail, and the others are listed all the same.
  const run = await host.run('dpkg-query', args, { timeout_ms: TIMEOUT_MS })
  if (run.outcome !== 'exited')
    throw new ApiError(
      'DESIRED_FAILED',
      `dpkg-query does not answer on the node, so ${packages.join(', ')} cannot be installed; use a node with Debian or Ubuntu.`,
    )
  const installed = run.stdout.split('\n').filter((line) => line.startsWith('installed '))
  return packages.filter((name) => !installed.includes(`installed ${name}`))
}

/** Files of others are never replaced by those of a package. */
const APT = [
  'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-y', '-o', 'DPkg::Lock::Timeout=300',
  '-o', 'Dpkg::Options::=--force-confdef', '-o', 'Dpkg::Options::=--force-confold',
] as const // biome-ignore format: one command

/** Packages may set rights that our unit forbids its children, so they are installed beside it where there is a service manager. */
async function apt(host: Host, ...args: string[]): Promise<void> {
  const by_manager = (await host.list('/run/systemd/system')) !== null
  const beside = ['systemd-run', '--quiet', '--wait', '--pipe', '--collect', ...APT, ...args] as const
  await runCommand(host, by_manager ? beside : [...APT, ...args], PACKAGES_TIMEOUT_MS)
}

export async function installPackages(host: Host, packages: readonly string[]): Promise<void> {
  await apt(host, 'update')
  await apt(host, '--no-install-recommends', 'install', '--', ...packages)
}

export async function removePackages(host: Host, packages: readonly string[]): Promise<void> {
  await apt(host, 'remove', '--', ...packages)
}

/** Enabled and running, and restarted when one of its files has changed: never, where none is named. */
export function serviceRuns(host: Host, unit: string, files: readonly string[]): Effect[] {
  return [
    {
      differs: async () => ((await said(host, 'is-enabled', unit)) === 'enabled' ? null : `${unit} is not enabled`),
      commands: [['systemctl', 'enable', unit]],
    },
    {
      differs: async () => {
        const state = await said(host, 'is-active', unit)
        return state === 'active' ? null : `${unit} is ${state === '' ? 'not known to the service manager' : state}`
      },
      commands: [['systemctl', 'restart', unit]],
      ...(files.length === 0 ? {} : { after: files }),
    },
  ]
}

async function said(host: Host, question: string, unit: string): Promise<string> {
  return (await host.run('systemctl', [question, unit], { timeout_ms: TIMEOUT_MS })).stdout.trim()
}
