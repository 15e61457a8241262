/** Fills an empty simulator state with a believable data centre; the same size and time give the same one. */
import type { SiteSize } from '../../site.ts'
import type { SimulatorState } from '../state.ts'
import { seedGpus } from './gpus.ts'
import { seedImages } from './images.ts'
import { seedMachines } from './machines.ts'
import { seedNetworks } from './networks.ts'
import { seedOfferings } from './offerings.ts'
import { seedOperations } from './operations.ts'
import { seedPlaces } from './places.ts'
import { seedTenancy } from './tenancy.ts'

export interface AdminKeys {
  api_key: string
  secret_key: string
}

export function seed(state: SimulatorState, size: SiteSize, seeded_at: number, keys: AdminKeys): void {
  state.seeded_at = seeded_at
  seedPlaces(state, size)
  seedTenancy(state, size, keys)
  seedOfferings(state)
  seedImages(state)
  seedNetworks(state, size)
  seedGpus(state)
  seedMachines(state, size)
  seedOperations(state)
}
