// The Debian packages: built from the checkout, installed into a root of their own beside a real PostgreSQL, started as their
// units say, backed up, upgraded and restored by the blocks of the guide. No file of this machine changes.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Child, createChildren } from '../support/children.ts'
import { type DebianPostgres, debianPostgresMissing, startDebianPostgres } from '../support/debian-postgres.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { callerFor } from '../support/http.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const ROOT = join(import.meta.dirname, '../..')

/** An overlay over the root of this machine, in a mount namespace: what is written goes to a tmpfs. */
const OVERLAY = `set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /dev "$1/root/dev"
# What a lab left on this machine is none of the packages' business.
for folder in var/lib/groundplane var/lib/groundplane-agent etc/groundplane; do
  mkdir -p "$1/root/$folder"
  mount -t tmpfs tmpfs "$1/root/$folder"
done
mount --rbind /proc "$1/root/proc"
echo mounted
exec sleep infinity`

/** Starts and stops what a unit of the packages says, as its user: a root without systemd has nothing else. */
const SYSTEMCTL = `#!/bin/sh
set -e
verb=$1
for unit; do :; done
file=/lib/systemd/system/\${unit%.service}.service
pid_file=/run/$unit.pid
stop() {
  [ -f "$pid_file" ] || return 0
  pid=$(cat "$pid_file")
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
  rm -f "$pid_file"
}
value() { sed -n "s/^$1=//p" "$file" | head -n 1; }
start() {
  set -a
  . "$(value EnvironmentFile)"
  set +a
  cd "$(value WorkingDirectory)"
  setsid setpriv --reuid "$(value User)" --regid "$(value Group)" --init-groups $(value ExecStart) >>/var/log/$unit.log 2>&1 </dev/null &
  echo $! >"$pid_file"
}
case $verb in
  enable | start) start ;;
  stop) stop ;;
  restart) stop; start ;;
esac
`

const missing = ((): string | false => {
  if (process.geteuid?.() !== 0) return 'needs root to make a root of its own'
  const tried = spawnSync('unshare', ['-m', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt'])
  if (tried.status !== 0) return 'this machine allows no mount namespaces'
  if (spawnSync('dpkg-deb', ['--version']).status !== 0) return 'no dpkg-deb'
  return debianPostgresMissing()
})()

suite('Debian packages', { skip: missing }, () => {
  const children = createChildren()
  let postgres: DebianPostgres
  let holder: Child
  let root: string
  let port: number
  const blocks = [...readFileSync(join(ROOT, 'docs/guides/upgrade-and-back-up.md'), 'utf8').matchAll(/^```sh\n([^]*?)^```$/gm)].map(
    ([, block = '']) => block,
  ) // biome-ignore format: one list

  const serviceLog = (): string =>
    spawnSync('nsenter', ['-t', String(holder.pid), '-m', 'cat', join(root, 'var/log/groundplane-control.log')], {
      encoding: 'utf8',
    }).stdout
  /** As root in the new root, in the folder of the packages. */
  async function inside(script: string): Promise<string> {
    const args = ['-t', String(holder.pid), '-m', 'chroot', root, 'sh', '-euc', `cd /packages\n${script}`]
    const child = spawn('nsenter', args, {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 180_000,
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => (text += part))
    const status = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve))
    assert.equal(status, 0, `${script}\n${text}\n${status === 0 ? '' : serviceLog()}`)
    return text
  }
  const block = (at: number): Promise<string> =>
    inside((blocks[at] ?? 'false').replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`))

  before(async () => {
    const folder = tempFolder('gp-packages-')
    const debs = join(folder, 'debs')
    const built = spawnSync('sh', ['deploy/build-packages', '--compression', 'none', debs], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    assert.equal(built.status, 0, built.stderr)
    mkdirSync(join(folder, 'mount'))
    holder = children.start('unshare', [
      '-m',
      '--propagation',
      'private',
      'sh',
      '-c',
      OVERLAY,
      'sh',
      join(folder, 'mount'),
    ])
    await until('the root is mounted', () => {
      if (holder.ended()) throw new Error(holder.errors())
      return holder.output().includes('mounted')
    })
    root = join(folder, 'mount/root')
    port = await freeTcpPort()
    postgres = await startDebianPostgres()
    const script = join(folder, 'systemctl')
    writeFileSync(script, SYSTEMCTL)
    chmodSync(script, 0o755)
    const copy = `mkdir -p ${root}/packages && mount --bind ${debs} ${root}/packages && cp ${script} ${root}/usr/local/bin/systemctl`
    const copied = spawnSync('nsenter', ['-t', String(holder.pid), '-m', 'sh', '-c', copy], { encoding: 'utf8' })
    assert.equal(copied.status, 0, copied.stderr)
  })
  after(async () => {
    if (root !== undefined) await inside('systemctl stop groundplane-control')
    await children.close()
    await postgres?.close()
  })

  test('they install, start, and are backed up, upgraded and restored by the blocks of the guide', async () => {
    assert.equal(blocks.length, 5)
    assert.match(await block(0), /Edit \/etc\/groundplane\/control\.yaml/)
    assert.match(
      await inside('groundplane --version; stat -c "%a %U %G" /etc/groundplane/control.env'),
      /\d+\.\d+\.\d+\n640 root groundplane/,
    )
    await inside(`echo "DATABASE_URL=${postgres.url}" >>/etc/groundplane/control.env
      sed -i 's/port: 8080/port: ${port}/' /etc/groundplane/control.yaml`)
    await block(1)
    const token = (await inside('cat /var/lib/groundplane/control/admin-token')).trim()
    const call = callerFor(`http://127.0.0.1:${port}`, token)
    const names = async (): Promise<string[]> =>
      (await call('GET', '/auth/tokens')).body.tokens.map(({ name }: { name: string }) => name)
    assert.equal((await call('POST', '/auth/tokens', { name: 'before', role: 'viewer' })).status, 201)
    await block(2)
    assert.equal((await call('POST', '/auth/tokens', { name: 'since', role: 'viewer' })).status, 201)
    await block(3)
    assert.ok((await names()).includes('since'), 'an upgrade loses nothing')
    await block(4)
    const restored = await names()
    assert.ok(restored.includes('before') && !restored.includes('since'), restored.join())
    assert.match(await inside('ps -o user= -p "$(cat /run/groundplane-control.pid)"'), /^groundp/)
  })

  test('the agent installs beside it and says that it is not enrolled; what is removed leaves keys alone', async () => {
    await inside('dpkg -i groundplane-agent_*.deb')
    const said = await inside(`echo 'control_url: http://127.0.0.1:${port}' >/etc/groundplane/agent.yaml
      groundplane agent --config /etc/groundplane/agent.yaml || echo "ended with $?"`)
    assert.match(said, /not enrolled[^]*ended with 1/)
    assert.match(
      await inside('systemctl stop groundplane-control; dpkg --purge groundplane-control groundplane-agent'),
      /Left alone/,
    )
    await inside('test -s /var/lib/groundplane/control/keys && test ! -e /etc/groundplane/control.yaml')
  })
})
