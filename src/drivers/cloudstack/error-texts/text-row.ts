// One row of the tables beside this file: a text of the platform, and what it means to our caller.
import type { ErrorCode } from '#src/contract/errors.ts'

/**
 * `message` may quote a named group of the text as `{group}`, a value of the request as `{sent.parameter}`; a part in
 * square brackets is left out when something it quotes is not known. Only what the caller sent, and numbers, names and
 * rules that the caller may see are quoted. `command`: for texts that say different things for different commands.
 */
export type TextRow = readonly [text: RegExp, code: ErrorCode, message: string, command?: RegExp]

export type Quotable = Readonly<Record<string, string | undefined>>

export function filled(message: string, groups: Quotable, sent: Quotable): string {
  const quote = (name: string) => (name.startsWith('sent.') ? sent[name.slice(5)] : groups[name])
  return message
    .replace(/\[([^[\]]*)\]/g, (_all, part: string) =>
      [...part.matchAll(/\{([\w.]+)\}/g)].every(([, name]) => (quote(name ?? '') ?? '') !== '') ? part : '',
    )
    .replace(/\{([\w.]+)\}/g, (_all, name: string) => quote(name) ?? '')
}
