/** Packages, units and kernel settings of a captured host, after the commands that were given. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { CapturedHost, CommandResult } from './host.ts'

interface Machine {
  packages: string[]
  enabled: string[]
  active: string[]
  /** The accounts of /etc/sysusers.d were made. */
  accounts: boolean
  /** Values below /proc/sys that were set. */
  kernel: Record<string, string>
}

/** Commands that change nothing which anybody could ask for later. */
const QUIET: readonly RegExp[] = [
  /^chronyc reload sources$/,
  /^apt-get .*update$/,
  /^virsh .*capabilities$/,
  /^systemctl daemon-reload$/,
  /^systemctl reload keepalived$/,
  /^keepalived -t -f \S+$/,
  /^install .*-g groundplane /,
  /^rm -f \/var\/lib\/groundplane\//,
  /^ceph .*-n client\.\S+ health$/,
]

/** The same captured host, on which packages can be installed and services started; `file` remembers them between starts. */
export function rememberMachine(host: CapturedHost, file: string | undefined): CapturedHost {
  const machine = stored(file)
  const save = (): void => {
    if (file !== undefined) writeFileSync(file, JSON.stringify(machine))
  }
  const play = (tool: string, args: readonly string[]): CommandResult | undefined => {
    if (tool === 'env') {
      const at = args.findIndex((word) => !word.includes('='))
      return play(args[at] ?? '', args.slice(at + 1))
    }
    if (tool === 'systemd-sysusers') {
      machine.accounts = true
      return ended('')
    }
    if (QUIET.some((line) => line.test([tool, ...args].join(' ')))) return ended('')
    if (tool.endsWith('/pg_controldata')) return ended(controlData(machine))
    if (tool === 'dpkg-query') return listPackages(machine, args)
    if (tool === 'apt-get') return changePackages(machine, args)
    return tool === 'systemctl' ? service(machine, args) : undefined
  }
  return {
    ...host,
    async read(path) {
      const text = machine.kernel[path] ?? (await host.read(path))
      if (path !== '/etc/passwd' || !machine.accounts) return text
      return `${text ?? ''}groundplane:x:990:990::/var/lib/groundplane:/usr/sbin/nologin\n`
    },
    async write(path, text) {
      await host.write(path, text)
      if (!path.startsWith('/proc/sys/')) return
      machine.kernel[path] = `${text}\n`
      save()
    },
    async run(tool, args) {
      const answer = play(tool, args)
      if (answer === undefined) return host.run(tool, args)
      save()
      return answer
    },
  }
}

/** What a server of PostgreSQL left in its folder. */
function controlData({ active }: Machine): string {
  const is_running = active.some((unit) => unit.startsWith('postgresql@'))
  return `Database cluster state:               ${is_running ? 'in production' : 'shut down'}\nLatest checkpoint location:           0/3000060\n`
}

function listPackages({ packages }: Machine, args: readonly string[]): CommandResult {
  const asked = args.slice(args.indexOf('--') + 1)
  const lines = asked.filter((name) => packages.includes(name)).map((name) => `installed ${name}\n`)
  return ended(lines.join(''), lines.length === asked.length ? 0 : 1)
}

/** A package whose name says so cannot be found: for tests of what happens then. */
function changePackages(machine: Machine, args: readonly string[]): CommandResult {
  const asked = args.slice(args.indexOf('--') + 1)
  const unknown = asked.find((name) => name.startsWith('no-such-'))
  if (unknown !== undefined) return { ...ended('', 100), stderr: `E: Unable to locate package ${unknown}\n` }
  const others = machine.packages.filter((name) => !asked.includes(name))
  machine.packages = args.includes('install') ? [...others, ...asked] : others
  return ended('')
}

function service(machine: Machine, [verb = '', unit = '']: readonly string[]): CommandResult {
  const without = (units: readonly string[]): string[] => units.filter((one) => one !== unit)
  switch (verb) {
    case 'is-enabled':
      return machine.enabled.includes(unit) ? ended('enabled\n') : ended('disabled\n', 1)
    case 'is-active':
      return machine.active.includes(unit) ? ended('active\n') : ended('inactive\n', 3)
    case 'enable':
      machine.enabled = [...without(machine.enabled), unit]
      return ended('')
    case 'disable':
      machine.enabled = without(machine.enabled)
      return ended('')
    case 'start':
    case 'restart':
      machine.active = [...without(machine.active), unit]
      return ended('')
    case 'stop':
      machine.active = without(machine.active)
      return ended('')
    default:
      return { ...ended('', 1), stderr: `Unknown command verb ${verb}.\n` }
  }
}

function stored(file: string | undefined): Machine {
  const empty = { packages: [], enabled: [], active: [], accounts: false, kernel: {} }
  if (file === undefined) return empty
  try {
    const known: Partial<Machine> = JSON.parse(readFileSync(file, 'utf8'))
    return { ...empty, ...known }
  } catch {
    return empty
  }
}

function ended(stdout: string, exit_code = 0): CommandResult {
  return { outcome: 'exited', exit_code, stdout, stderr: '' }
}
