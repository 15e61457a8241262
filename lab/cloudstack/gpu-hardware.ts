/** A GPU, or a part of one, that is in a host whether or not the platform knows of it. */
import type { GpuDevice } from './records.ts'

export interface GpuHardware extends Pick<GpuDevice, 'busaddress' | 'gpudevicetype' | 'gpucardid' | 'vgpuprofileid'> {
  parentbusaddress: string | null
}
