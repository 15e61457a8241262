// Job: a machine is started from an image that reports its hardware, so that disks and NICs can be chosen by what they are.
import { type Static, Type } from 'typebox'
import { HardwareReport } from '#src/contract/kvm/provision.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { recordDisks, recordNics } from '#src/store/node-lifecycle.ts'
import { findNode } from '#src/store/nodes.ts'
import { revealAnswers } from './answers.ts'
import { BootInput, BootState, type KvmJobDeps } from './boot-parts.ts'
import {
  byHand,
  checkDevice,
  connectMedia,
  imageSteps,
  isMediaConnected,
  isOff,
  isOn,
  POWER_UNKNOWN,
  removeMedia,
  switchOff,
  switchOn,
  UPLOAD_MS,
} from './boot-steps.ts'
import { REVEAL_TYPE, REVEALED } from './phone-home.ts'

const RevealState = Type.Object({ ...BootState, report: HardwareReport })
export type RevealRun = Run<KvmJobDeps, BootInput, Static<typeof RevealState>>

const image = imageSteps<RevealRun>({ answers: revealAnswers, macs: () => null })
const REPORT_MS = 15 * 60_000

export const kvmRevealJob = defineJob<KvmJobDeps>()({
  type: REVEAL_TYPE,
  input: BootInput,
  state: RevealState,
  result: HardwareReport,
  resultOf: ({ state }) => {
    if (state.report === undefined) throw new Error('a reveal ends with its report')
    return state.report
  },
  resource_type: 'NODE',
  limits: [
    { of: ({ bmc_ip }) => `node ${bmc_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
    { of: ({ kvm_ip }) => `KVM ${kvm_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
  ],
  steps: [
    { name: 'check-device', title: 'Check the KVM', run: checkDevice },
    { name: 'build-iso', title: 'Make the image', weight: 2, run: image.build },
    {
      name: 'upload',
      title: 'Bring the image to the KVM',
      weight: 4,
      run: image.upload,
      undo: removeMedia,
      timeout_ms: UPLOAD_MS,
    },
    { name: 'connect', title: 'Connect the image to the machine', holds: isMediaConnected, run: connectMedia },
    {
      name: 'power-off',
      title: 'Switch the machine off',
      applies: byHand,
      holds: isOff,
      run: switchOff,
      outstanding: POWER_UNKNOWN,
    },
    {
      name: 'boot',
      title: 'Start the machine from the image',
      kind: 'once',
      applies: byHand,
      holds: isOn,
      run: switchOn,
      outstanding: POWER_UNKNOWN,
    },
    { name: 'report', title: 'Wait for the report', weight: 4, run: waitForReport, timeout_ms: REPORT_MS },
    { name: 'remove-media', title: 'Take the image away', run: removeMedia },
    { name: 'record', title: 'Record disks and NICs', run: record },
  ],
  on_failure: 'undo',
  done: ({ input, state }) => {
    const { disks = [], nics = [] } = state.report ?? {}
    return `The machine behind ${input.kvm_ip} has ${disks.length} disks and ${nics.length} NICs.`
  },
})

async function waitForReport(run: RevealRun): Promise<void> {
  const { report, failure } = await run.signalled(REVEALED)
  if (report === null)
    throw new ApiError('INSTALL_FAILED', `The machine reports no hardware: ${failure ?? 'it said nothing'}.`)
  await run.save({ report })
  await run.note('INFO', 'The machine has reported its hardware.', { report })
}

async function record(run: RevealRun): Promise<void> {
  const { report } = run.state
  if (report === undefined) return
  await run.fenced(async (trx) => {
    const node = await findNode(trx, run.input.bmc_ip)
    if (node === undefined) return
    const disks = report.disks.filter(({ removable }) => !removable)
    await recordDisks(
      trx,
      node.node_id,
      disks.map(({ name, serial, wwn, bytes }) => ({ name, serial, wwn, size_bytes: bytes })),
    )
    await recordNics(
      trx,
      node.node_id,
      report.nics.map(({ name, mac }) => ({ name, permanent_mac: mac })),
    )
  })
}
