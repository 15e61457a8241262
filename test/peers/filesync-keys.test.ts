// File-sync keys on Debian's SSH server: the line that a member writes for a peer lets it put files below one folder, from the
// peer's own address, and nothing else.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { readSshBanner } from '#src/modules/kvm/ssh-banner.ts'
import { createChildren } from '../support/children.ts'
import { registerNode } from '../support/fake-agent.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { FIRST, type HaSite, SECOND, startHaSite } from '../support/ha-site.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const SSHD = '/usr/sbin/sshd'
const missing = [SSHD, '/usr/bin/ssh', '/usr/bin/rsync', '/usr/bin/rrsync'].find((path) => !existsSync(path))
const skip = missing !== undefined && `${missing} is not installed (scripts/install-peers)`

suite('file-sync keys', { skip }, () => {
  const children = createChildren()
  const folder = tempFolder('gp-filesync-')
  const scope_dir = join(folder, 'scopes')
  const outside = join(folder, 'outside')
  const file = join(folder, 'scope.json')
  const target = `${userInfo().username}@${FIRST.address}`
  let site: HaSite
  let port: number

  before(async () => {
    for (const path of [scope_dir, outside]) mkdirSync(path)
    writeFileSync(file, 'a scope\n')
    site = await startHaSite({ scope_dir })
    for (const { bmc_ip, ...fields } of [FIRST, SECOND]) {
      assert.equal((await registerNode(site.lab, bmc_ip, { role: 'management' })).status, 201)
      assert.equal((await site.lab.call('PUT', `/ha/members/${bmc_ip}`, fields)).status, 200)
    }
    const authorized_keys = join(site.lab.data_dir, 'ha/authorized_keys')
    await until('the line of the peer is written', () => existsSync(authorized_keys))
    port = await startSshServer(authorized_keys)
  })
  after(async () => {
    await children.close()
    await site?.close()
  })

  /** Its own host key and port; of the settings only what a folder of tests needs differs from Debian's. */
  async function startSshServer(authorized_keys: string): Promise<number> {
    const free = await freeTcpPort()
    const host_key = join(folder, 'host-key')
    execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', host_key])
    if (process.geteuid?.() === 0) mkdirSync('/run/sshd', { recursive: true })
    const settings = [
      `ListenAddress ${FIRST.address}`,
      `Port ${free}`,
      `HostKey ${host_key}`,
      'PidFile none',
      `AuthorizedKeysFile ${authorized_keys}`,
      // The folder for temporary files belongs to everybody.
      'StrictModes no',
      'Subsystem sftp internal-sftp',
    ]
    writeFileSync(join(folder, 'sshd_config'), `${settings.join('\n')}\n`)
    children.start(SSHD, ['-D', '-e', '-f', join(folder, 'sshd_config')])
    await until('the SSH server answers', async () => (await readSshBanner(FIRST.address, free)) ?? false)
    return free
  }

  const keyOf = (data_dir: string): string => join(data_dir, 'ha/filesync_ed25519')

  function sshWords({ from = SECOND.address, key = keyOf(site.second_config.data_dir) } = {}): string[] {
    const options = ['BatchMode=yes', 'IdentitiesOnly=yes', 'IdentityAgent=none', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ExitOnForwardFailure=yes'] // biome-ignore format: one list
    return ['-F', 'none', '-i', key, '-b', from, '-p', String(port), ...options.flatMap((option) => ['-o', option])]
  }

  async function run(program: string, args: string[]): Promise<{ status: number | string; text: string }> {
    const child = children.start(program, args)
    await once(child.process, 'close')
    return { status: child.process.exitCode ?? 'killed', text: child.output() + child.errors() }
  }

  const ssh = (args: string[], as: Parameters<typeof sshWords>[0] = {}) =>
    run('/usr/bin/ssh', [...sshWords(as), ...args])
  const rsync = (args: string[]) => run('/usr/bin/rsync', ['-e', ['ssh', ...sshWords()].join(' '), ...args])

  test('a peer puts a file below the folder', async () => {
    const put = await rsync(['-a', file, `${target}:scope.json`])
    assert.equal(put.status, 0, put.text)
    assert.equal(readFileSync(join(scope_dir, 'scope.json'), 'utf8'), 'a scope\n')
  })

  test('nothing is read, and nothing is written beside the folder', async () => {
    writeFileSync(join(scope_dir, 'secret'), 'planted')
    const read = await rsync(['-a', `${target}:secret`, join(folder, 'read')])
    assert.notEqual(read.status, 0, read.text)
    assert.ok(!existsSync(join(folder, 'read')))
    const link = join(folder, 'link')
    execFileSync('/bin/ln', ['-s', outside, link])
    await rsync(['-a', link, `${target}:link`])
    for (const path of ['../outside/put', join(outside, 'put'), 'link/put']) {
      await rsync(['-a', file, `${target}:${path}`])
      assert.ok(!existsSync(join(outside, 'put')), path)
    }
  })

  test('no other command runs, neither a shell nor a file transfer of SSH', async () => {
    const made = join(outside, 'made')
    for (const args of [
      [target, `touch ${made}`],
      [target, `rsync --server . ; touch ${made}`],
      ['-s', target, 'sftp'],
    ]) {
      const asked = await ssh(args)
      assert.notEqual(asked.status, 0, `${args.join(' ')}: ${asked.text}`)
      assert.ok(!existsSync(made), args.join(' '))
    }
    const terminal = await ssh(['-tt', target])
    assert.notEqual(terminal.status, 0)
    assert.match(terminal.text, /PTY allocation request failed/)
  })

  test('no connection is forwarded, to here or from here', async () => {
    const through = await ssh(['-W', `${FIRST.address}:${port}`, target])
    assert.notEqual(through.status, 0)
    assert.match(through.text, /administratively prohibited/)
    const back = await ssh(['-N', '-R', `127.0.0.1:0:${FIRST.address}:${port}`, target])
    assert.notEqual(back.status, 0)
    assert.match(back.text, /remote port forwarding failed/)
  })

  test('the key is good from the address of the peer alone, and the key of another is not', async () => {
    const own = keyOf(site.lab.data_dir)
    for (const as of [{ from: '127.0.0.4' }, { key: own }]) {
      const refused = await ssh([target, 'true'], as)
      assert.equal(refused.status, 255, refused.text)
      assert.match(refused.text, /Permission denied/)
    }
  })
})
