// Power of a machine through its BMC: state, actions, and the live stream (Part 2, 4.6).
import { type Static, Type } from 'typebox'
import { Closed, IpAddress, KnownText, Nullable, OneOf, Time } from '../common.ts'
import { defineArea } from '../route.ts'
import { BMC_ERRORS, BmcCallFields, exampleCorrelation, Extension, FollowFields } from './requests.ts'

/** Reset types of the standard; a BMC may know others, and rarely knows all of them. */
export const RESET_TYPES = [
  'On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'Nmi', 'ForceOn', 'PushPowerButton', 'PowerCycle',
] as const // biome-ignore format: one list

const PowerState = Nullable(KnownText(['On', 'Off', 'PoweringOn', 'PoweringOff', 'Paused'], 'As the BMC says it.'))
const PowerOn = Nullable(
  Type.Boolean({ description: 'Null while it is neither on nor off, and when the BMC is silent.' }),
)

export const BmcPower = Type.Object(
  {
    power_state: PowerState,
    power_on: PowerOn,
    status: OneOf(['ok', 'unknown'], { description: 'unknown: the BMC answers, but names no power state.' }),
    message: Type.String(),
    power_options: Type.Optional(
      Type.Array(Type.String(), { description: 'Reset types this BMC takes; with include_options.' }),
    ),
    observed_at: Time,
  },
  { title: 'BmcPower' },
)

export const BmcChangeAnswer = Type.Object(
  {
    message: Type.String(),
    status: OneOf(['accepted', 'unchanged', 'completed', 'unverified'], {
      description:
        'accepted: the BMC has taken it; whether it came about is said by the job. unverified: nobody can tell that it came about.',
    }),
    ...FollowFields,
  },
  { title: 'BmcChangeAnswer' },
)
export type BmcChangeAnswer = Static<typeof BmcChangeAnswer>

export const PowerMessage = Type.Object(
  {
    bmc_ip: Type.String(),
    power_on: PowerOn,
    power_state: PowerState,
    previous: PowerState,
    observed_at: Time,
    source: OneOf(['poll', 'cache']),
    stale: Type.Boolean({ description: 'True: known from before; a fresh state follows.' }),
  },
  { title: 'PowerMessage' },
)
export type PowerMessage = Static<typeof PowerMessage>

export const PowerErrorMessage = Type.Object(
  { bmc_ip: Type.String(), code: Type.String(), message: Type.String() },
  { title: 'PowerErrorMessage' },
)

export const bmcPower = defineArea({
  name: 'bmc-power',
  description: 'Power of machines through their BMCs.',
  routes: {
    bmcPowerGet: {
      method: 'POST',
      path: '/vendora-inventory/powerstate',
      summary: 'Read power state of machine',
      access: 'viewer',
      effect: 'read',
      body: Closed(
        { ...BmcCallFields, include_options: Type.Optional(Type.Boolean({ description: 'Add power_options.' })) },
        { title: 'BmcPowerRequest' },
      ),
      ok: { 200: BmcPower },
      errors: BMC_ERRORS,
      example: {
        body: { bmc_ip: '10.1.0.21', include_options: true },
        answer: {
          power_state: 'On',
          power_on: true,
          status: 'ok',
          message: 'The machine is on.',
          power_options: ['On', 'ForceOff', 'GracefulShutdown'],
          observed_at: '2026-11-20T04:00:00.000Z',
        },
      },
    },
    bmcPowerSet: {
      method: 'POST',
      path: '/vendora-inventory/poweraction',
      summary: 'Change power of machine',
      description:
        'Answers when the BMC has accepted the action; a job then reads the state until it is reached. 409 while another change of this BMC is under way.',
      access: 'admin',
      body: Closed(
        {
          ...BmcCallFields,
          reset_type: Type.String({
            minLength: 1,
            maxLength: 64,
            'x-known-values': RESET_TYPES,
            description:
              'A reset type of this BMC (`power_options`), or on, off, reboot, shutdown, power_cycle. One that the BMC does not list is refused with those it does.',
          }),
        },
        { title: 'BmcPowerAction' },
      ),
      ok: { 200: BmcChangeAnswer },
      errors: [400, 401, 409, 500],
      event: { resource_type: 'BMC' },
      example: {
        body: { bmc_ip: '10.1.0.21', reset_type: 'GracefulShutdown' },
        answer: {
          message: 'The BMC 10.1.0.21 has accepted GracefulShutdown.',
          status: 'accepted',
          correlation_id: exampleCorrelation,
        },
      },
    },
    bmcRestart: {
      method: 'POST',
      path: '/vendora-inventory/bios/restart',
      summary: 'Restart machine gracefully',
      description:
        'Applies pending BIOS settings. A BMC without GracefulRestart is asked to shut down and, once the machine is off, to switch it on. A machine that is off is switched on.',
      access: 'admin',
      body: Closed(
        {
          ...BmcCallFields,
          force_after_timeout: Type.Optional(
            Type.Boolean({
              ...Extension,
              description: 'Switch off by force when the operating system has not shut down in time. Default: fail.',
            }),
          ),
        },
        { title: 'BmcRestart' },
      ),
      ok: { 200: BmcChangeAnswer },
      errors: [400, 401, 409, 500],
      event: { resource_type: 'BMC' },
      example: {
        body: { bmc_ip: '10.1.0.21' },
        answer: {
          message: 'The BMC 10.1.0.21 has accepted GracefulRestart.',
          status: 'accepted',
          correlation_id: exampleCorrelation,
        },
      },
    },
    bmcPowerStream: {
      method: 'GET',
      path: '/vendora-inventory/powerstate/sse',
      summary: 'Follow power state of machine',
      description:
        'The first message is what is known, marked stale, or the fresh state; then one for every change. All watchers of a BMC share one poller. Credentials come from the record alone.',
      access: 'viewer',
      kind: 'sse',
      query: Type.Object({ bmc_ip: IpAddress }),
      ok: { 200: Type.String({ contentMediaType: 'text/event-stream' }) },
      errors: [400, 401, 500],
      messages: { power: PowerMessage, error: PowerErrorMessage },
      example: { query: { bmc_ip: '10.1.0.21' } },
    },
  },
})
