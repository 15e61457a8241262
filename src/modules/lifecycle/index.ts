// The life of a node: setup, decommission, rollback and wipe.
import type { Module, Parts } from '../module.ts'

export function lifecycleModule(_parts: Parts): Module {
  return { areas: [], jobs: [] }
}
