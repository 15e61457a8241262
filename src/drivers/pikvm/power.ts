// The buttons of the server and its keyboard, as a remote KVM presses them.
import { setTimeout as pause } from 'node:timers/promises'
import type { KvmClient } from './client.ts'

/** `on`, `off` and `off_hard` press only where the power LED says that it is needed. */
export type PowerAction = 'on' | 'off' | 'off_hard'

interface Call {
  signal?: AbortSignal | undefined
}

/** Answered when the button is released. Whether the server obeys is to be read. */
export async function pressPower(kvm: KvmClient, action: PowerAction, { signal }: Call = {}): Promise<void> {
  await kvm.post('/atx/power', { action, wait: 1 }, { signal })
}

/** Whatever the LED says: for servers whose LED is not wired. */
export async function clickButton(
  kvm: KvmClient,
  button: 'power' | 'power_long',
  { signal }: Call = {},
): Promise<void> {
  await kvm.post('/atx/click', { button, wait: 1 }, { signal })
}

/** One key, pressed and released. */
export async function sendKey(kvm: KvmClient, key: string, { signal }: Call = {}): Promise<void> {
  for (const state of [1, 0]) await kvm.post('/hid/events/send_key', { key, state }, { signal })
}

const KEY_EVERY_MS = 500
const KEY_FOR = 80

/** Presses the key of the boot menu while the firmware starts, then the rest. */
export async function sendBootKeys(
  kvm: KvmClient,
  [menu, ...rest]: readonly string[],
  call: Call & { every_ms?: number },
) {
  const { signal, every_ms = KEY_EVERY_MS } = call
  if (menu === undefined) return
  for (let pressed = 0; pressed < KEY_FOR; pressed += 1) {
    await sendKey(kvm, menu, { signal })
    await pause(every_ms, undefined, { signal })
  }
  for (const key of rest) {
    await sendKey(kvm, key, { signal })
    await pause(every_ms, undefined, { signal })
  }
}
