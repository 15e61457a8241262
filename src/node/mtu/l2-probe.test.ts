// What a probe of the link layer refuses before it sends a frame. With real devices: test/peers/l2-probe.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RawSocket } from '#src/kernel/raw-socket.ts'
import { recordedHost } from '../../../test/support/recorded-host.ts'
import { createL2Probe } from './l2-probe.ts'

const LINKS = JSON.stringify([{ ifname: 'eth1', ifindex: 3, mtu: 1500, flags: ['UP'], address: '52:54:00:00:00:01' }])
const REQUEST = { device: 'eth1', mtu: 1500, run_id: 7 } as const

test('a second probe of one direction on a device, and one to nowhere, are refused with the device and what is missing', async () => {
  const host = recordedHost({ commands: { 'ip -j -d link': LINKS } })
  const opened = Promise.withResolvers<RawSocket>()
  const asked = Promise.withResolvers<void>()
  const rawSocket = (): Promise<RawSocket> => {
    asked.resolve()
    return opened.promise
  }
  const probe = createL2Probe({ host: { ...host, rawSocket }, allowed_devices: ['eth1'] })
  const { signal } = new AbortController()
  const first = probe.run({ ...REQUEST, mode: 'listen' }, signal)
  await asked.promise
  await assert.rejects(probe.run({ ...REQUEST, mode: 'listen' }, signal), {
    code: 'MTU_PROBE_RUNNING',
    message: 'A listen probe runs on eth1; wait for its end.',
  })
  await assert.rejects(probe.run({ ...REQUEST, mode: 'send', peer: 'kvm-02' }, signal), {
    code: 'INVALID_REQUEST',
    message: /peer.*an IP address, unless peer_mac is given/,
  })
  opened.reject(new Error('EPERM'))
  await assert.rejects(first, { code: 'RAW_SOCKETS_UNAVAILABLE', message: 'No raw socket could be opened on eth1.' })
  assert.equal(
    host.ran.some((line) => line.startsWith('ping')),
    false,
  )
})
