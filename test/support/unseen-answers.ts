// Documented answers that no test over HTTP can see, each with its reason. Keep it short: a new row needs a reason that a
// test could not overcome. answer-check.ts reads it after a full run; test/rules/answers.test.ts keeps it true.
import type { ErrorCode } from '#src/contract/errors.ts'

export interface UnseenAnswers {
  why: string
  status: number
  operations: readonly string[]
}

export interface UnseenCodes {
  why: string
  codes: readonly ErrorCode[]
}

export const UNSEEN_ANSWERS: readonly UnseenAnswers[] = [
  {
    why: 'Answers from memory: there is nothing that could fail.',
    status: 500,
    operations: [
      'rootPage',
      'healthGet',
      'versionGet',
      'metricsGet',
      'openapiGet',
      'docsPage',
      'docsScript',
      'cameraPlayerPage',
      'cameraPlayerFile',
      'consolePage',
      'consoleView',
      'consoleAsset',
    ],
  },
  {
    why: 'The documents give every route of the area the same statuses; this one names nothing that could be missing.',
    status: 404,
    operations: ['tenantList', 'tenantIsMulti', 'tenantStats', 'gpuDeviceRepinInflight', 'mtuDeclare'],
  },
  {
    why: 'The documents give every route of the area the same statuses; this one reads, whatever state things are in.',
    status: 409,
    operations: [
      'tenantList', 'tenantIsMulti', 'tenantStats', 'tenantGet', 'gpuDeviceRepinInflight', 'gpuDeviceRepinStatus',
    ], // biome-ignore format: a list
  },
  {
    why: 'An upgraded connection leaves the server before answers are counted: test/api/camera-live.test.ts opens them.',
    status: 101,
    operations: ['cameraLiveOpen', 'cameraWebrtcOpen', 'cameraEventStreamOpen', 'vmScreenOpen'],
  },
  {
    why: 'A stream leaves the server before answers are counted: test/api/bmc.test.ts and test/api/kvm.test.ts read them.',
    status: 200,
    operations: ['bmcPowerStream', 'kvmPowerStream'],
  },
  {
    why: 'All that can fail is a subsystem, which is 502 there.',
    status: 500,
    operations: ['nvrTemplateRegister'],
  },
  {
    why: 'Needs raw sockets on two nodes: test/peers/l2-probe.test.ts.',
    status: 200,
    operations: ['mtuL2Probe'],
  },
  {
    why: 'Needs raw sockets on a node: a second probe while one runs.',
    status: 409,
    operations: ['mtuL2Probe'],
  },
]

export const UNSEEN_CODES: readonly UnseenCodes[] = [
  {
    why: 'Needs raw sockets on a node: test/peers/l2-probe.test.ts.',
    codes: ['MTU_PEER_UNKNOWN', 'MTU_PROBE_RUNNING'],
  },
  {
    why: 'An agent says it to the control plane, which answers NETWORK_NODES_FAILED: test/peers/guest-bridges.test.ts.',
    codes: ['BRIDGE_EXISTS', 'BRIDGE_FAILED', 'BRIDGE_IN_USE'],
  },
  {
    why: 'An agent says it in the state of a task, which is an answer of 200: test/agent/desired-state.test.ts.',
    codes: ['DESIRED_AREA_BUSY', 'DESIRED_CONFLICT'],
  },
  { why: 'Needs nodes whose frames are lost: test/peers/mtu-rollout.test.ts.', codes: ['MTU_ROLLOUT_FAILED'] },
  {
    why: 'Says after 110 s of waiting, and of steps that take longer, that an operation goes on.',
    codes: ['WAIT_TIMEOUT'],
  },
  {
    why: 'The job that makes the NVR ends with it: test/jobs/nvr-initialize.test.ts, which runs without a server.',
    codes: ['NVR_TIMEOUT'],
  },
  {
    why: 'The job of a setup ends with it, long after its request was answered: test/jobs/node-setup.test.ts.',
    codes: ['NODE_IDENTITY', 'COMPUTE_NOT_CONFIGURED'],
  },
  { why: 'Ends what is under way when the process stops: nobody is there to read it.', codes: ['SHUTTING_DOWN'] },
]
