// Changes of texts that are shared with others: a block of lines of ours, or single settings. Every other byte stays. Pure.

const BEGIN = '# Begin of what groundplane writes'
const END = '# End of what groundplane writes'

/** Replaces the block where it stands, or adds it at the end; no lines: it is taken out. */
export function withBlock(text: string, lines: readonly string[]): string {
  const all = text.split('\n')
  const [begin, end] = [all.indexOf(BEGIN), all.indexOf(END)]
  const block = lines.length === 0 ? [] : [BEGIN, ...lines, END]
  if (begin >= 0 && end > begin) return [...all.slice(0, begin), ...block, ...all.slice(end + 1)].join('\n')
  if (lines.length === 0) return text
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  return `${text}${gap}${block.join('\n')}\n`
}

/** Sets each key in its first line, or at the end. A comment is no line of a key. */
export function setKeys(text: string, values: Readonly<Record<string, string>>, separator: string): string {
  const lines = text.split('\n')
  const added: string[] = []
  for (const [key, value] of Object.entries(values)) {
    const at = lines.findIndex((line) => keyOf(line) === key)
    if (at < 0) added.push(`${key}${separator}${value}`)
    else if (valueOf(lines[at] ?? '') !== value) lines[at] = `${key}${separator}${value}`
  }
  if (added.length === 0) return lines.join('\n')
  if (lines.at(-1) === '') lines.pop()
  return [...lines, ...added, ''].join('\n')
}

/** The line of each key; null where it is not set. */
export function linesOfKeys(text: string, keys: readonly string[]): Record<string, string | null> {
  const lines = text.split('\n')
  return Object.fromEntries(keys.map((key) => [key, lines.find((one) => keyOf(one) === key) ?? null]))
}

/** Puts the lines of keys as they were; null removes the key. */
export function restoreKeys(text: string, before: Readonly<Record<string, string | null>>): string {
  const lines = text.split('\n').flatMap((line) => {
    const key = keyOf(line)
    if (key === undefined || !Object.hasOwn(before, key)) return [line]
    return before[key] ?? []
  })
  return lines.join('\n')
}

function keyOf(line: string): string | undefined {
  return /^\s*([A-Za-z0-9._-]+)\s*=/.exec(line)?.[1]
}

function valueOf(line: string): string {
  return line.slice(line.indexOf('=') + 1).trim()
}
