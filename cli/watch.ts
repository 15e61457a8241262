// Asks again and again and shows the answer whenever it has changed.
import { setTimeout as delay } from 'node:timers/promises'
import { Writable } from 'node:stream'
import { ClientError } from '#src/contract/client.ts'
import { ConnectionError, failureLines } from './failures.ts'
import { note, type Terminal } from './terminal.ts'

/** On a terminal each answer takes the place of the one before; a pipe gets those that differ, one after the other. */
export async function watched(
  terminal: Terminal,
  interval_ms: number,
  show: (terminal: Terminal) => Promise<void>,
): Promise<void> {
  let shown: string | undefined
  for (;;) {
    const screen = collector(terminal)
    try {
      await show({ ...terminal, stdout: screen.stdout, stderr: screen.stderr })
    } catch (error) {
      // The first answer says whether the command is right at all; later ones may be late.
      if (shown === undefined || !mayPass(error)) throw error
      for (const line of failureLines(error)) note({ ...terminal, stderr: screen.stderr }, line)
    }
    const text = screen.text()
    if (text !== shown) terminal.stdout.write(terminal.stdout.isTTY === true ? `\u001b[H\u001b[2J${text}` : text)
    shown = text
    await delay(interval_ms, undefined, { signal: terminal.interrupted }).catch(() => undefined)
    terminal.interrupted.throwIfAborted()
  }
}

function mayPass(error: unknown): boolean {
  return (
    error instanceof ConnectionError || (error instanceof ClientError && (error.status >= 500 || error.status === 429))
  )
}

/** Both streams as one text: on the screen, too, they stand below each other. */
function collector(terminal: Terminal): Pick<Terminal, 'stdout' | 'stderr'> & { text(): string } {
  const parts: string[] = []
  const stream = (): Writable =>
    new Writable({
      write(chunk: Buffer | string, _encoding, done) {
        parts.push(String(chunk))
        done()
      },
    })
  const { isTTY, columns } = terminal.stdout
  const size = { ...(isTTY === undefined ? {} : { isTTY }), ...(columns === undefined ? {} : { columns }) }
  return { stdout: Object.assign(stream(), size), stderr: stream(), text: () => parts.join('') }
}
