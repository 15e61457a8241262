// Every kind of change while the line to the platform breaks at every moment: each order is done once or not at all, and
// has one end. At replicas that are killed: test/peers/platform-storm.test.ts.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { areas } from '#src/contract/index.ts'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { storm } from '../support/storm-every-kind.ts'

const SEED = 20_261_121

let lab: Lab
let proxy: PlatformProxy
before(async () => {
  lab = await startLab({
    time: 'step',
    between: async (platform_url) => {
      proxy = await startPlatformProxy(platform_url)
      return proxy.url
    },
    config: { compute: { timeout_ms: 1000, read_timeout_ms: 10_000 } },
  })
})
after(async () => {
  await lab?.close()
  await proxy?.close()
})

/** Areas whose changes are made in other systems than the compute platform, or on nodes. */
const ELSEWHERE = [
  'auth', 'dhcp', 'dns', 'ipam', 'drift', 'mtu', 'nodes', 'node-nics', 'wipe', 'bmc', 'bmc-power', 'bmc-bios', 'bmc-machine',
  'kvm-provisioning', 'benchmarks', 'cameras', 'camera-events', 'camera-faces', 'ha',
] // biome-ignore format: names

/** Kinds that the storm does not order, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  eventArchive: 'It archives the events that the books are read from.',
  vmConsoleCreate: 'A console leaves nothing on the platform.',
  vmScreenOpen: 'A console leaves nothing on the platform.',
  tenantAccountModeSet: 'The mode is recorded here alone.',
  publicIpDnsSet: 'Names are made in DNS; test/jobs/public-ip-names.test.ts walks through it.',
  guestNetworkCreate: 'It begins on the nodes; test/jobs/guest-network-jobs.test.ts kills it at every point.',
  guestNetworkDelete: 'It begins on the nodes; test/jobs/guest-network-jobs.test.ts kills it at every point.',
  guestNetworkCheck: 'It only reads.',
  gpuDeviceConvert: 'It begins on a node; test/jobs/gpu-jobs.test.ts kills it at every point.',
  gpuDeviceRepin: 'It begins on a node; test/jobs/gpu-jobs.test.ts kills it at every point.',
  vgpuProfileSync: 'It begins on a node; test/jobs/gpu-jobs.test.ts kills it at every point.',
  decommissionStart: 'A node leaves; test/jobs/node-leave.test.ts kills it at every point.',
  decommissionRetry: 'A node leaves; test/jobs/node-leave.test.ts kills it at every point.',
  decommissionCancel: 'A node stays; test/jobs/node-leave.test.ts kills the job at every point.',
  decommissionWipeConfirm: 'It is recorded here alone.',
  nodeSetupStart: 'It begins on a node; test/jobs/node-setup.test.ts kills it at every point.',
  rollbackStart: 'A node leaves; test/jobs/node-leave.test.ts kills it at every point.',
  cameraCreate: 'A camera is a matter of the NVR.',
  cameraDelete: 'A camera is a matter of the NVR.',
  nvrInitialize: 'It needs an NVR that comes up; test/peers/nvr-crash-walk.test.ts kills it at every point.',
  nvrRetry: 'It needs an NVR that comes up; test/peers/nvr-crash-walk.test.ts kills it at every point.',
  nvrDelete: 'It needs an NVR that came up; test/jobs/nvr-changes.test.ts lets it fail in every way.',
  nvrTemplateRegister: 'It needs the image of an NVR.',
  nvrPasswordRotate: 'The password is the NVR’s.',
  nvrPasswordAcknowledge: 'The password is the NVR’s.',
  nvrPasswordVerify: 'The password is the NVR’s.',
}

test('each order is done once or not at all, has one end, and no kind of change is forgotten', {
  timeout: 400_000,
}, async (t) => {
  const { orders, done, kinds } = await storm({ platform: lab.platform, proxy, caller: () => lab.call, seed: SEED })
  t.diagnostic(`seed ${SEED}: ${done} of ${orders} orders of ${kinds.size} kinds succeeded`)
  const changing = areas
    .filter(({ name }) => !ELSEWHERE.includes(name))
    .flatMap(({ routes }) => Object.entries(routes))
    .flatMap(([operation, { event }]) => (event === undefined ? [] : [operation]))
  const expected = changing.filter((operation) => LEFT_OUT[operation] === undefined)
  assert.deepEqual([...kinds].toSorted(), expected.toSorted())
  const stale = Object.keys(LEFT_OUT).filter((operation) => !changing.includes(operation))
  assert.deepEqual(stale, [], 'operations that are left out and do not exist')
  const unknown = ELSEWHERE.filter((name) => !areas.some((area) => area.name === name))
  assert.deepEqual(unknown, [], 'areas that do not exist')
})
