// What the handlers of this module are made of.
import type { CamStore } from '#src/store/cam-instance.ts'
import type { Parts } from '../module.ts'
import type { CurrentNvr } from './current-nvr.ts'

export interface CamDeps extends Parts {
  cam_store: CamStore
  currentNvr: CurrentNvr
}
