// Real tools where the lab has simulated ones: xorriso makes the image of a node from a hybrid template, and a real SSH server
// answers the probe that a mere forwarder does not satisfy.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readIsoFile } from '../../lab/iso9660.ts'
import { bootRecordsOf, buildImage, xorrisoRunner } from '#src/modules/kvm/image.ts'
import { hashPassword } from '#src/modules/kvm/password-hash.ts'
import { readSshBanner } from '#src/modules/kvm/ssh-banner.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { until } from '../support/until.ts'

const XORRISO = '/usr/bin/xorriso'
const SSHD = '/usr/sbin/sshd'
const without = (path: string): string | false =>
  !existsSync(path) && `${path} is not installed (scripts/install-peers)`

let folder: string
before(() => {
  folder = tempFolder('gp-remaster-')
})

/** As deploy/installer lays its template out: BIOS El Torito image, EFI image as a GPT partition, hybrid MBR. */
function makeTemplate(): string {
  const tree = join(folder, 'tree')
  for (const path of ['boot', 'live', 'node']) mkdirSync(join(tree, path), { recursive: true })
  writeFileSync(join(tree, 'boot/bios.img'), randomBytes(2048))
  writeFileSync(join(tree, 'live/filesystem.squashfs'), randomBytes(300_000))
  writeFileSync(join(folder, 'mbr.img'), randomBytes(432))
  writeFileSync(join(folder, 'efi.img'), randomBytes(512 * 1024))
  const template = join(folder, 'template.iso')
  execFileSync(XORRISO, [
    '-as', 'mkisofs', '-quiet', '-o', template, '-V', 'NODE', '-r', '-J', '--grub2-mbr', join(folder, 'mbr.img'), '-partition_offset', '16',
    '-b', 'boot/bios.img', '-no-emul-boot', '-boot-load-size', '4', '-boot-info-table',
    '-append_partition', '2', 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B', join(folder, 'efi.img'), '-appended_part_as_gpt',
    '-eltorito-alt-boot', '-e', '--interval:appended_partition_2:all::', '-no-emul-boot', tree,
  ]) // biome-ignore format: arguments
  return template
}

function report(image: string): string {
  const args = [
    '-no_rc',
    '-report_about',
    'FAILURE',
    '-indev',
    image,
    '-report_el_torito',
    'plain',
    '-report_system_area',
    'plain',
  ]
  return execFileSync(XORRISO, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}

/** Bytes of the EFI partition, where the partition table says that it is. */
function efiPartition(image: string): Buffer {
  const bytes = readFileSync(image)
  for (let entry = 0; entry < 8; entry += 1) {
    const at = Number(bytes.readBigUInt64LE(512 + 72)) * 512 + entry * 128
    if (bytes.subarray(at, at + 4).toString('hex') !== '28732ac1') continue
    const [first, last] = [Number(bytes.readBigUInt64LE(at + 32)), Number(bytes.readBigUInt64LE(at + 40))]
    return bytes.subarray(first * 512, (last + 1) * 512)
  }
  return assert.fail('there is no EFI partition')
}

test('the image of a node is the template with the answers: both boot records, both partition tables and every file intact', {
  skip: without(XORRISO),
}, async () => {
  const template = makeTemplate()
  const tools = { run: xorrisoRunner(XORRISO), template, work_dir: join(folder, 'work') }
  const answers = { version: 1, hostname: 'ünïcode "quoted"', password_hash: hashPassword('secret-word', 'saltsalt') }
  const path = join(folder, 'node.iso')
  const built = await buildImage(tools, path, answers)
  const image = readFileSync(path)
  assert.equal(image.length, built.bytes)
  assert.deepEqual(JSON.parse(readIsoFile(image, 'node/answers.json')?.toString('utf8') ?? ''), answers)
  assert.match(
    bootRecordsOf(report(path)),
    /boot BIOS y none\nboot UEFI y none\nsystem area MBR protective.*GPT\nmbr .*\n(gpt .*\n)*gpt 28732ac1/,
  )
  assert.equal(bootRecordsOf(report(path)), bootRecordsOf(report(template)))
  assert.deepEqual(image.subarray(0, 432), readFileSync(join(folder, 'mbr.img')), 'code of the MBR')
  assert.deepEqual(efiPartition(path), readFileSync(join(folder, 'efi.img')))
  assert.deepEqual(
    readIsoFile(image, 'live/filesystem.squashfs'),
    readFileSync(join(folder, 'tree/live/filesystem.squashfs')),
  )
  await assert.rejects(
    buildImage({ ...tools, template: join(folder, 'efi.img') }, join(folder, 'bad.iso'), answers),
    /could not be made/,
  )
})

test('SHA-512 crypt is that of the system', { skip: without('/usr/bin/openssl') }, () => {
  for (const password of ['short', 'x'.repeat(128), 'pässwörd €']) {
    const theirs = execFileSync('/usr/bin/openssl', ['passwd', '-6', '-salt', 'saltstring', '-stdin'], {
      input: `${password}\n`,
      encoding: 'utf8',
    }).trim()
    assert.equal(hashPassword(password, 'saltstring', 5000), theirs, password)
  }
})

const servers: Server[] = []
let sshd: ChildProcess | undefined
after(async () => {
  if (sshd?.exitCode === null) {
    const ended = once(sshd, 'exit')
    sshd.kill()
    await ended
  }
  for (const server of servers) server.close()
})

test('a real SSH server answers the probe; a forwarder that accepts connections does not', {
  skip: without(SSHD),
}, async () => {
  const port = await freeTcpPort()
  const key = join(folder, 'host-key')
  execFileSync('/usr/bin/ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
  mkdirSync('/run/sshd', { recursive: true })
  const options = [
    '-D',
    '-e',
    '-f',
    '/dev/null',
    '-h',
    key,
    '-p',
    String(port),
    '-o',
    'ListenAddress=127.0.0.1',
    '-o',
    'PidFile=none',
  ]
  sshd = spawn(SSHD, options, { stdio: 'ignore' })
  const banner = await until(
    'the SSH server answers',
    async () => (await readSshBanner('127.0.0.1', port)) ?? undefined,
  )
  assert.match(banner, /^SSH-2\.0-OpenSSH/)
  const forwarder = createServer((socket) => {
    socket.on('error', () => {})
    socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
  }).listen(0, '127.0.0.1')
  servers.push(forwarder)
  await once(forwarder, 'listening')
  const address = forwarder.address()
  assert.ok(typeof address === 'object' && address !== null)
  assert.equal(await readSshBanner('127.0.0.1', address.port), null)
})
