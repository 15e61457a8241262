// Recorded outputs of real tools (test/fixtures/linux), by folder and file.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export function linuxFixture(folder: string, file: string): string {
  return readFileSync(join(import.meta.dirname, '..', 'fixtures', 'linux', folder, file), 'utf8')
}

export function linuxFixtureJson(folder: string, file: string): unknown {
  return JSON.parse(linuxFixture(folder, file))
}

export function linuxFixtureNames(folder: string): string[] {
  return readdirSync(join(import.meta.dirname, '..', 'fixtures', 'linux', folder)).sort()
}
