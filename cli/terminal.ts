// What the command line may touch of its process: arguments, environment, three streams and the interrupt.
import type { Readable, Writable } from 'node:stream'

export interface TerminalOutput extends Writable {
  isTTY?: boolean
  columns?: number
}

export interface TerminalInput extends Readable {
  isTTY?: boolean
  setRawMode?(raw: boolean): unknown
}

export interface Terminal {
  /** Arguments after the program's name. */
  args: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  stdin: TerminalInput
  stdout: TerminalOutput
  stderr: TerminalOutput
  /** Aborted by Ctrl-C. */
  interrupted: AbortSignal
}

/** A line of the answer: goes to stdout, so that pipes carry answers alone. */
export function printLine(terminal: Terminal, text: string): void {
  terminal.stdout.write(`${text}\n`)
}

/** A line for the person at the terminal: goes to stderr. */
export function note(terminal: Terminal, text: string): void {
  terminal.stderr.write(`${text}\n`)
}

/**
 * Makes text of others safe to show. Names and messages come from tenants and machines; an escape sequence in one could
 * rewrite the screen, and a bidirectional override could make one id look like another.
 */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]/gu, (char) =>
    char === '\n' || char === '\t' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The same for text that must stay on one line. */
export function oneLine(text: string): string {
  return visible(text.replace(/\s+/g, ' ').trim())
}

/** Reads one line without showing it on a terminal; a pipe is read to its end. */
export async function readSecret(terminal: Terminal, prompt: string): Promise<string> {
  const { stdin, stderr } = terminal
  if (!stdin.isTTY || stdin.setRawMode === undefined) return (await readAll(stdin)).replace(/\r?\n$/, '')
  stderr.write(prompt)
  stdin.setRawMode(true)
  try {
    return await typedLine(stdin, terminal.interrupted)
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}

export async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

function typedLine(stdin: TerminalInput, interrupted: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = ''
    const end = (finish: () => void): void => {
      stdin.off('data', take)
      finish()
    }
    const take = (chunk: Buffer | string): void => {
      for (const char of chunk.toString()) {
        if (char === '\r' || char === '\n' || char === '\u0004') return end(() => resolve(line))
        // Raw mode turns Ctrl-C into a character.
        if (char === '\u0003') return end(() => reject(new DOMException('interrupted', 'AbortError')))
        line = char === '\u007f' || char === '\b' ? line.slice(0, -1) : line + char
      }
    }
    interrupted.addEventListener('abort', () => end(() => reject(new DOMException('interrupted', 'AbortError'))), {
      once: true,
    })
    stdin.on('data', take)
    stdin.resume()
  })
}
