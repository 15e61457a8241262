/** Two GPU hosts: whole cards handed through on the first, one card cut into vGPUs on the second. */
import { hostFacts, seededId, wellKnown } from '../../site.ts'
import type { GpuDevice } from '../records.ts'
import type { SimulatorState } from '../state.ts'

export function seedGpus(state: SimulatorState): void {
  const { tables } = state
  const { gpu_cards: cards, vgpu_profiles: profiles } = wellKnown
  tables.gpucards.put({
    id: cards['NVIDIA A2'],
    name: 'NVIDIA A2',
    deviceid: '25b6',
    devicename: 'GA107GL [A2 / A16]',
    vendorid: '10de',
    vendorname: 'NVIDIA Corporation',
  })
  tables.gpucards.put({
    id: cards['NVIDIA A16'],
    name: 'NVIDIA A16',
    deviceid: '25b6',
    devicename: 'GA107GL [A16]',
    vendorid: '10de',
    vendorname: 'NVIDIA Corporation',
  })
  const none = {
    maxvgpuperphysicalgpu: null,
    videoram: null,
    maxheads: null,
    maxresolutionx: null,
    maxresolutiony: null,
  }
  tables.vgpuprofiles.put({
    id: profiles['A2 passthrough'],
    name: 'A2 passthrough',
    description: 'passthrough',
    gpucardid: cards['NVIDIA A2'],
    ...none,
  })
  tables.vgpuprofiles.put({
    id: profiles['A16 passthrough'],
    name: 'A16 passthrough',
    description: 'passthrough',
    gpucardid: cards['NVIDIA A16'],
    ...none,
  })
  tables.vgpuprofiles.put({
    id: profiles['NVIDIA A16-4Q'],
    name: 'NVIDIA A16-4Q',
    description: 'vGPU with 4 GiB',
    gpucardid: cards['NVIDIA A16'],
    maxvgpuperphysicalgpu: 4,
    videoram: 4096,
    maxheads: 4,
    maxresolutionx: 7680,
    maxresolutiony: 4320,
  })
  const first = seededId('host', hostFacts(0).name)
  const second = seededId('host', hostFacts(1).name)
  for (const bus of ['3b:00.0', 'af:00.0'])
    device(state, `kvm-01/${bus}`, {
      hostid: first,
      busaddress: bus,
      gpucardid: cards['NVIDIA A2'],
      vgpuprofileid: profiles['A2 passthrough'],
    })
  if (!tables.hosts.has(second)) return
  device(state, 'kvm-02/3b:00.0', {
    hostid: second,
    busaddress: '3b:00.0',
    gpudevicetype: 'VGPUOnly',
    gpucardid: cards['NVIDIA A16'],
    vgpuprofileid: profiles['A16 passthrough'],
  })
  for (let slot = 0; slot < 4; slot += 1) {
    const name = `kvm-02/mdev-${slot}`
    device(state, name, {
      hostid: second,
      busaddress: seededId('mdev', name),
      gpudevicetype: 'MDEV',
      gpucardid: cards['NVIDIA A16'],
      vgpuprofileid: profiles['NVIDIA A16-4Q'],
      parentgpudeviceid: seededId('gpudevice', 'kvm-02/3b:00.0'),
    })
  }
}

function device(
  state: SimulatorState,
  name: string,
  set: Partial<GpuDevice> & Pick<GpuDevice, 'hostid' | 'busaddress' | 'gpucardid' | 'vgpuprofileid'>,
): void {
  state.tables.gpudevices.put({
    id: seededId('gpudevice', name),
    gpudevicetype: 'PCI',
    virtualmachineid: null,
    state: 'Free',
    managedstate: 'Managed',
    parentgpudeviceid: null,
    numanode: '0',
    ...set,
  })
}
