// What the parts of failover share: this member, its folder, and the members it belongs to.
import { join } from 'node:path'
import type { Parts } from '../module.ts'
import type { PeerCalls } from './peer-calls.ts'

export type HaDeps = Pick<
  Parts,
  'config' | 'database' | 'replica_id' | 'agents' | 'own_node' | 'background' | 'log' | 'listening'
> & {
  peers: PeerCalls
  /** What belongs to this machine alone: key pair, spool, how its notify script calls. */
  ha_dir: string
}

export const spoolDir = (ha_dir: string): string => join(ha_dir, 'spool')
