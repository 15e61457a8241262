// Reads and sets single keys of an INI text and leaves every other byte as it is.

/** Every value of a key in all sections of that name. */
export function iniValues(text: string, section: string, key: string): string[] {
  const values: string[] = []
  let current = ''
  for (const line of text.split('\n')) {
    const header = /^\s*\[(.+)\]\s*$/.exec(line)
    if (header !== null) current = header[1] ?? ''
    const pair = /^\s*([A-Za-z0-9_.-]+)\s*=\s*(.*?)\s*$/.exec(line)
    if (pair !== null && current === section && pair[1] === key) values.push(pair[2] ?? '')
  }
  return values
}

/** Replaces the key where it stands, adds it at the head of its section, or adds the section at the end. */
export function iniSet(text: string, section: string, key: string, value: string): string {
  const lines = text.split('\n')
  let current = ''
  let header_at = -1
  for (const [at, line] of lines.entries()) {
    const header = /^\s*\[(.+)\]\s*$/.exec(line)
    if (header !== null) {
      current = header[1] ?? ''
      if (current === section && header_at < 0) header_at = at
    }
    if (current === section && new RegExp(`^\\s*${key}\\s*=`).test(line)) {
      lines[at] = `${key}=${value}`
      return lines.join('\n')
    }
  }
  if (header_at >= 0) {
    lines.splice(header_at + 1, 0, `${key}=${value}`)
    return lines.join('\n')
  }
  const gap = text === '' || text.endsWith('\n\n') ? '' : text.endsWith('\n') ? '\n' : '\n\n'
  return `${text}${gap}[${section}]\n${key}=${value}\n`
}
