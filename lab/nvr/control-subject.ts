/** What tests and people can make the simulated NVR do: its control API, besides what every simulator has (lab/control.ts). */
import { randomFillSync } from 'node:crypto'
import { type CallLog, type ControlSubject, ControlError, type Faults } from '../control.ts'
import { readConfigFile, type Release } from './config-file.ts'
import type { Relay } from './relay.ts'
import type { NvrState, Phase } from './state.ts'
import type { TopicFeed } from './topic-feed.ts'

interface Controlled {
  state: NvrState
  relay: Relay
  feed: TopicFeed
  open: { streams: number }
  faults: Faults
  calls: CallLog
  defaultFile(release: Release): string
  phase(): Phase
  setPhase(phase: Phase): Promise<void>
  restart(): void
}

export function createControlSubject(lab: Controlled): ControlSubject {
  const { state, relay, feed, faults, calls } = lab
  const reset = (): void => {
    faults.clear()
    calls.clear()
    relay.faults = { backlog_s: 1, padding_bytes: 0, muted: false }
    state.reviewed.clear()
    state.boot()
  }
  return {
    faults,
    calls,
    reset,
    step: () => ({ ok: true }),
    state: () => ({
      phase: lab.phase(),
      release: state.release,
      viewers: relay.viewers(),
      streams: lab.open.streams,
      cameras: [...state.cameras.values()].map(({ id, switches, offline }) => ({ id, switches, offline })),
      file: state.file,
    }),
    mutate: () => {
      throw new ControlError('the NVR is changed by /camera, /relay, /phase, /release, /password, /expire-sessions')
    },
    routes: {
      'POST /restart': () => done(() => lab.restart()),
      'POST /phase': async (body) => {
        const phase = body['phase']
        if (phase !== 'ready' && phase !== 'starting' && phase !== 'down') {
          throw new ControlError('phase is ready, starting or down')
        }
        await lab.setPhase(phase)
        return { phase }
      },
      'POST /camera': (body) => {
        const camera = state.camera(textOf(body, 'id'))
        if (camera === undefined) throw new ControlError('no camera with this id')
        camera.offline = body['offline'] === true
        return { id: camera.id, offline: camera.offline }
      },
      'POST /relay': (body) => {
        const { backlog_s, padding_bytes, muted } = body
        if (typeof backlog_s === 'number') relay.faults.backlog_s = backlog_s
        if (typeof padding_bytes === 'number') relay.faults.padding_bytes = padding_bytes
        if (typeof muted === 'boolean') relay.faults.muted = muted
        return relay.faults
      },
      'POST /cut': () =>
        done(() => {
          relay.close()
          feed.close()
        }),
      'POST /topic': (body) => done(() => feed.sendRaw(textOf(body, 'frame'))),
      'POST /release': (body) => {
        const release = body['release']
        if (release !== '0.16' && release !== '0.17') throw new ControlError('release is 0.16 or 0.17')
        // A file that the other release cannot read is replaced, as people do on an upgrade.
        if (readConfigFile(state.file, release).outcome !== 'runs') state.file = lab.defaultFile(release)
        state.release = release
        state.boot()
        return { release }
      },
      'POST /password': (body) => {
        const user = state.users.get(textOf(body, 'user'))
        if (user === undefined) throw new ControlError('no user with this name')
        user.password = textOf(body, 'password')
        user.password_changed_s = Date.now() / 1000
        return { ok: true }
      },
      'POST /expire-sessions': () => done(() => randomFillSync(state.jwt_secret)),
    },
  }
}

function done(work: () => unknown): { ok: true } {
  work()
  return { ok: true }
}

function textOf(body: Record<string, unknown>, name: string): string {
  const value = body[name]
  if (typeof value === 'string' && value !== '') return value
  throw new ControlError(`${name} is a text`)
}
