// A lab with a simulated NVR behind /cam: running, with three cameras (gate with sound, yard, depot in H.265), as if it had been
// provisioned.
import { createCamStore } from '#src/store/cam-instance.ts'
import { NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { openKeyring } from '#src/kernel/keyring.ts'
import { createLog } from '#src/kernel/log.ts'
import { openDatabase } from '#src/store/database.ts'
import { keyFileOf } from '../../bin/control-plane.ts'
import { selfSigned } from '../../lab/nvr/certificate.ts'
import { type NvrLab, startNvr, type StartNvrOptions } from '../../lab/nvr/server.ts'
import { type Lab, type LabOptions, startLab } from './start-lab.ts'

export interface CameraLab extends Lab {
  nvr: NvrLab
  /** The control API of the NVR: lab/nvr/README.md. */
  nvrControl(path: string, body?: Record<string, unknown>): Promise<void>
  /** Lets the service meet another NVR, on another address and the same port. */
  useNvr(nvr: ReachableNvr): Promise<void>
}

type ReachableNvr = Pick<NvrLab, 'url' | 'ca' | 'admin_password'>

const NVR_INSTANCE_ID = '0193a5d2-4b1d-7c3e-9f00-5d2c8e1f0a77'

export async function startCameraLab(nvr_options: StartNvrOptions = {}, options: LabOptions = {}): Promise<CameraLab> {
  const nvr = await startLabNvr(nvr_options)
  const port = Number(new URL(nvr.url).port)
  const config = { ...options.config, cam: { nvr_port: port, ...(options.config?.cam as object | undefined) } }
  const lab = await startLab({ time: 'step', ...options, config }).catch(async (error: unknown) => {
    await nvr.close()
    throw error
  })
  const cameras: CameraLab = Object.assign(lab, {
    nvr,
    async nvrControl(path: string, body: Record<string, unknown> = {}) {
      const answer = await fetch(`${cameras.nvr.control_url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`the NVR's control API refuses ${path}: ${await answer.text()}`)
    },
    useNvr: (other: ReachableNvr) => seedNvr(lab, other),
    close: closeBoth(lab, nvr),
  })
  await seedNvr(lab, nvr)
  return cameras
}

/** With the certificate that provisioning would have installed. */
export async function startLabNvr(options: StartNvrOptions = {}): Promise<NvrLab> {
  return startNvr({ restart: 'manual', certificate: await selfSigned(NVR_SERVER_NAME), ...options })
}

function closeBoth(lab: Lab, nvr: NvrLab): () => Promise<void> {
  const closeLab = lab.close
  return async () => {
    await closeLab()
    await nvr.close()
  }
}

/** What provisioning leaves in the database, but for a machine of the platform: nobody watches the state of this NVR. */
export async function seedNvr(lab: Lab, nvr: ReachableNvr): Promise<void> {
  const log = createLog({ level: 'error' })
  const database = openDatabase({ connection: lab.database.connection, pool_size: 2, log })
  try {
    const store = createCamStore(database, openKeyring(keyFileOf(lab.config)))
    const order = { cores: 4, memory_mb: 8192, gpu_count: 0, vgpu_profile_id: '', recording_disk_gb: 200 }
    const about = { id: NVR_INSTANCE_ID, name: 'nvr', network_id: 'lab-network', camera_ip: '192.0.2.11' }
    await database.transact((trx) => store.create(trx, { ...about, ...order }))
    await store.change(NVR_INSTANCE_ID, {
      state: 'running',
      vm_ip_address: new URL(nvr.url).hostname,
      admin_password: nvr.admin_password,
      ca_certificate: nvr.ca,
    })
  } finally {
    await database.close()
  }
}
