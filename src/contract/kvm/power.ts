// Power of a machine as its remote KVM sees it: state and live stream (Part 2, 4.5).
import { Type } from 'typebox'
import { PowerErrorMessage } from '../bmc/power.ts'
import { Closed, IpAddress, Nullable, OneOf, Time } from '../common.ts'
import { defineArea } from '../route.ts'

const Extension = { 'x-extension': true } as const

/** Of the documents, which do not say that it is needed. */
const KvmAddress = Type.Optional(IpAddress)

/** The power state is the power LED; without wires to it nothing is known. */
const PowerWord = Nullable(OneOf(['On', 'Off'], { description: 'Null: the KVM is not wired to the power LED.' }))

export const KvmPower = Type.Object(
  {
    message: Type.String(),
    power_on: Type.Boolean({ description: 'The power LED is lit. False also where nothing is known; see status.' }),
    status: OneOf(['on', 'off', 'busy', 'disabled'], {
      description:
        'busy: a button is being pressed. disabled: the KVM is not wired to buttons and LED, so nothing is known.',
    }),
    hdd_active: Type.Boolean({ ...Extension, description: 'The disk LED is lit.' }),
    observed_at: Type.Unsafe<string>({ ...Time, ...Extension }),
  },
  { title: 'KvmPower' },
)

export const KvmPowerMessage = Type.Object(
  {
    bmc_ip: Type.String({ description: 'Address of the KVM.' }),
    power_on: Nullable(Type.Boolean({ description: 'Null: the KVM is not wired to the power LED.' })),
    power_state: PowerWord,
    previous: PowerWord,
    busy: Type.Boolean({ description: 'A button is being pressed.' }),
    hdd_active: Type.Boolean({ description: 'The disk LED was lit.' }),
    observed_at: Time,
    source: OneOf(['poll', 'cache']),
    stale: Type.Boolean({ description: 'True: known from before; a fresh state follows.' }),
  },
  { title: 'KvmPowerMessage' },
)

export const kvmPower = defineArea({
  name: 'kvm-power',
  description: 'Power of machines through their remote KVMs.',
  routes: {
    kvmPowerGet: {
      method: 'GET',
      path: '/remotekvm-inventory/power/status',
      summary: 'Read power state of machine through its remote KVM',
      description:
        'Credentials come from the record of this address (PUT /vendora-inventory/bmcs/{bmcIP}). The state is that of the power LED.',
      access: 'viewer',
      query: Closed({ kvm_ip: KvmAddress }),
      ok: { 200: KvmPower },
      errors: [400, 401, 500],
      example: {
        query: { kvm_ip: '10.1.0.41' },
        answer: {
          message: 'The machine is on.',
          power_on: true,
          status: 'on',
          hdd_active: false,
          observed_at: '2026-11-20T04:00:00.000Z',
        },
      },
    },
    kvmPowerStream: {
      method: 'GET',
      path: '/remotekvm-inventory/power/sse',
      summary: 'Follow power state of machine through its remote KVM',
      description:
        'The first message is what is known, marked stale, or the fresh state; then one for every change. All watchers of a KVM share one poller. Credentials come from its record.',
      access: 'viewer',
      kind: 'sse',
      query: Type.Object({ bmc_ip: KvmAddress }),
      ok: { 200: Type.String({ contentMediaType: 'text/event-stream' }) },
      errors: [400, 401, 500],
      messages: { power: KvmPowerMessage, error: PowerErrorMessage },
      example: { query: { bmc_ip: '10.1.0.41' } },
    },
  },
})
