/** Roles of the configuration file that have some cameras only; a notion of 0.17. */
import { type Caller, Rejection } from './http-call.ts'
import { at } from './json.ts'
import type { NvrState } from './state.ts'

export function mayRead(nvr: NvrState, { role }: Caller, camera: string): boolean {
  const allowed = allowedCameras(nvr, role)
  return allowed === null || allowed.includes(camera)
}

/** Rejects in the program's own words. */
export function requireCamera(nvr: NvrState, caller: Caller, camera: string): void {
  if (mayRead(nvr, caller, camera)) return
  const list = allowedCameras(nvr, caller.role)?.map((one) => `'${one}'`)
  throw new Rejection(403, { detail: `Access denied to camera '${camera}'. Allowed: [${list?.join(', ') ?? ''}]` })
}

/** Null: all. */
function allowedCameras(nvr: NvrState, role: string): string[] | null {
  const cameras = at(nvr.config(), 'auth', 'roles', role)
  if (nvr.release === '0.16' || role === 'admin' || !Array.isArray(cameras) || cameras.length === 0) return null
  return cameras.map(String)
}
