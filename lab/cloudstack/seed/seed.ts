/** Fills an empty world with a believable data centre; the same size and time give the same world. */
import type { WorldSize } from '../../world.ts'
import type { World } from '../state.ts'
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

export function seed(world: World, size: WorldSize, seeded_at: number, keys: AdminKeys): void {
  world.seeded_at = seeded_at
  seedPlaces(world, size)
  seedTenancy(world, size, keys)
  seedOfferings(world)
  seedImages(world)
  seedNetworks(world, size)
  seedGpus(world)
  seedMachines(world, size)
  seedOperations(world)
}
