/**
 * Stands in for xorriso in the lab and in tests: adds a file to a template (which it only checks to be there), reads it out of an
 * image, and reports the boot records of the template. What it makes is an image that simulated machines read and no real one starts.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeIso, readIsoFile } from '../iso9660.ts'

const REPORT = `El Torito boot img :   1  BIOS  y   none  0x0000  0x00      4          59
El Torito boot img :   2  UEFI  y   none  0x0000  0x00   2048         158
System area summary: MBR protective-msdos-label grub2-mbr cyl-align-off GPT
MBR partition      :   1   0x00  0xee            1         3343
GPT type GUID      :   2  28732ac11ff8d211ba4b00a0c93ec93b
`

/** In this process, for who needs no program. */
export function runXorriso(args: readonly string[]): string {
  const after = (name: string): string => args[args.indexOf(name) + 1] ?? ''
  const source = after('-indev')
  statSync(source)
  if (args.includes('-map')) {
    const [file = '', target = ''] = args.slice(args.indexOf('-map') + 1)
    const [folder = '', name = ''] = target.split('/').filter((part) => part !== '')
    writeFileSync(after('-outdev'), makeIso(folder, name, readFileSync(file)), { flag: 'wx' })
  } else if (args.includes('-extract')) {
    const [path = '', target = ''] = args.slice(args.indexOf('-extract') + 1)
    const found = readIsoFile(readFileSync(source), path.slice(1))
    if (found === undefined) throw new Error(`${path} is not in ${source}`)
    writeFileSync(target, found)
  } else throw new Error('these arguments are not among those that the service gives')
  return args.includes('-report_el_torito') ? REPORT : ''
}

export interface SimulatedInstaller {
  /** Path of the program. */
  xorriso: string
  template: string
}

/** A program of this name, and a template of a few bytes, in the folder. */
export function makeInstaller(folder: string): SimulatedInstaller {
  const xorriso = join(folder, 'xorriso')
  writeFileSync(xorriso, `#!/bin/sh\nexec "${process.execPath}" "${import.meta.filename}" "$@"\n`, { mode: 0o755 })
  const template = join(folder, 'template.iso')
  writeFileSync(
    template,
    makeIso('node', 'readme.txt', Buffer.from('A template of the lab: no machine starts from it.\n')),
  )
  return { xorriso, template }
}

if (import.meta.main) {
  try {
    process.stdout.write(runXorriso(process.argv.slice(2)))
  } catch (error) {
    process.stderr.write(`xorriso : FAILURE : ${error instanceof Error ? error.message : 'unknown'}\n`)
    process.exitCode = 32
  }
}
