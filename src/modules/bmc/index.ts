// BMCs of machines: their records, what they say, and what is changed through them.
import { bmcBios } from '#src/contract/bmc/bios.ts'
import { bmcMachine } from '#src/contract/bmc/machine.ts'
import { bmcPower } from '#src/contract/bmc/power.ts'
import { bmcRecords } from '#src/contract/bmc/records.ts'
import { bindJob } from '#src/jobs/define.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { createPowerStreams } from '../power-streams.ts'
import { bmcBiosSetJob } from './bios.job.ts'
import { bmcBiosSet, bmcFirmwareUpdate, bmcJobsDelete, bmcPowerSet, bmcRestart } from './changes.ts'
import { bmcJobsDeleteJob } from './clear.job.ts'
import { bmcFirmwareUpdateJob } from './firmware.job.ts'
import { bmcInventoryCollect } from './inventory.ts'
import { bmcIsoMount, bootImageGet } from './iso-mount.ts'
import { bmcIsoMountJob } from './mount.job.ts'
import { bmcPowerSetJob } from './power.job.ts'
import { bmcBiosGet, bmcBiosPendingGet, bmcJobsList, bmcPowerGet, powerReader } from './readings.ts'
import { recordHandlers } from './records.ts'

export function bmcModule(parts: Parts): Module {
  const { bmcs, config, database, log } = parts
  const { watch_ms, follow_ms, patience_seconds, silence_seconds, timeout_ms } = config.bmc
  const streams = createPowerStreams({ device: 'BMC', open: powerReader(bmcs), watch_ms, log })
  const deps = { ...parts, streams }
  const [patience_ms, silence_ms] = [patience_seconds * 1000, silence_seconds * 1000]
  const job_deps = { bmcs, database, follow_ms, patience_ms, silence_ms, timeout_ms }
  return {
    areas: [
      serve(bmcRecords, recordHandlers(deps)),
      serve(bmcPower, {
        bmcPowerGet: bmcPowerGet(deps),
        bmcPowerSet: bmcPowerSet(deps),
        bmcRestart: bmcRestart(deps),
        bmcPowerStream: ({ query }, ctx) =>
          streams.watch({ bmc_ip: addressOf('query.bmc_ip', query.bmc_ip), by: ctx.caller.username }),
      }),
      serve(bmcBios, {
        bmcBiosGet: bmcBiosGet(deps),
        bmcBiosSet: bmcBiosSet(deps),
        bmcBiosPendingGet: bmcBiosPendingGet(deps),
        bmcFirmwareUpdate: bmcFirmwareUpdate(deps),
      }),
      serve(bmcMachine, {
        bmcInventoryCollect: bmcInventoryCollect(deps),
        bmcIsoMount: bmcIsoMount(deps),
        bmcJobsList: bmcJobsList(deps),
        bmcJobsDelete: bmcJobsDelete(deps),
        bootImageGet: bootImageGet(deps),
      }),
    ],
    jobs: [
      bindJob(bmcPowerSetJob, job_deps),
      bindJob(bmcBiosSetJob, job_deps),
      bindJob(bmcFirmwareUpdateJob, job_deps),
      bindJob(bmcJobsDeleteJob, job_deps),
      bindJob(bmcIsoMountJob, job_deps),
    ],
    watchers: [{ stop: () => streams.stop() }],
  }
}
