// Writes docs/reference from the contract, the error table, the configuration schema and the limits of drivers; `--check` fails when it is stale.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import packageJson from '../package.json' with { type: 'json' }
import { ERRORS } from '#src/contract/errors.ts'
import { areas } from '#src/contract/index.ts'
import { openApiDocument } from '#src/contract/openapi.ts'
import { ConfigSchema, leafPaths } from '#src/kernel/config.ts'
import { FrrNode } from '#src/contract/network/frr.ts'
import { NodeNet } from '#src/contract/network/node-net.ts'
import {
  ClusterStoreStatus,
  Disk,
  LocalpoolSubsystem,
  StorageHealth,
  StorageMetrics,
} from '#src/contract/storage/host.ts'
import { backendTable } from './backend-table.ts'
import { schemaFields } from './schema-fields.ts'

const FOLDER = new URL('../docs/reference/', import.meta.url)

const files: Record<string, string> = {
  'openapi.json': openApiText(),
  'endpoints.md': endpoints(),
  'errors.md': errors(),
  'events.md': events(),
  'config.md': config(),
  'ddi-backends.md': backendTable(table),
  'node-fields.md': nodeFields(),
}

const stale = Object.entries(files).filter(([name, text]) => read(name) !== text)
if (process.argv.includes('--check')) {
  for (const [name] of stale) console.error(`docs/reference/${name} is stale: run npm run generate`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  mkdirSync(FOLDER, { recursive: true })
  for (const [name, text] of stale) {
    writeFileSync(new URL(name, FOLDER), text)
    console.log(`wrote docs/reference/${name}`)
  }
}

function read(name: string): string | undefined {
  try {
    return readFileSync(new URL(name, FOLDER), 'utf8')
  } catch {
    return undefined
  }
}

/** One line an operation and a component: small, and a change shows where it is. */
function openApiText(): string {
  const { paths, components, ...rest } = openApiDocument(areas, { version: packageJson.version })
  const block = (name: string, value: unknown, depth: number): string => {
    const indent = ' '.repeat(depth)
    const inner =
      depth > 2 || typeof value !== 'object' || value === null || Array.isArray(value)
        ? JSON.stringify(value)
        : `{\n${Object.entries(value)
            .map(([key, one]) => block(key, one, depth + 1))
            .join(',\n')}\n${indent}}`
    return `${indent}${JSON.stringify(name)}: ${inner}`
  }
  const simple = Object.entries(rest).map(([name, value]) => ` ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return `{\n${[...simple, block('paths', paths, 1), block('components', components, 1)].join(',\n')}\n}\n`
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function endpoints(): string {
  const parts = areas.map((area) => {
    const rows = Object.entries(area.routes)
      .filter(([, route]) => route.hidden !== true)
      .map(([operation, route]) => [
        `\`${route.method} ${route.path}\``,
        `\`${operation}\``,
        route.summary,
        route.access,
        route.tenant === 'own' ? 'own' : '',
        route.event?.resource_type ?? '',
        route.extension ? 'yes' : '',
      ])
    const head = ['Route', 'Operation', 'Summary', 'Access', 'Tenant tokens', 'Event', 'Extension']
    return rows.length === 0 ? '' : `## ${area.name}\n\n${area.description}\n\n${table(head, rows)}\n`
  })
  return `# Endpoints\n\nMade from the contract by \`npm run generate\`.\n\n${parts.filter((part) => part !== '').join('\n')}`
}

function errors(): string {
  const rows = Object.entries(ERRORS)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, entry]) => [
      `\`${code}\``,
      entry.status === 'upstream' ? '500 (502 under /cam)' : String(entry.status),
      entry.title,
    ])
  return `# Error codes\n\nA route that does not list 404 or 409 answers 400 with the same code. Made by \`npm run generate\`.\n\n${table(['Code', 'Status', 'Meaning'], rows)}\n`
}

function events(): string {
  const rows = areas.flatMap((area) =>
    Object.entries(area.routes).flatMap(([operation, route]) =>
      route.event === undefined ? [] : [[`\`${operation}\``, route.event.resource_type, route.summary]],
    ),
  )
  return `# Application events\n\nEvery operation here writes one event, IN_PROGRESS then SUCCESS or FAILED, under the correlation id of its answer. Made by \`npm run generate\`.\n\n${table(['Action', 'Resource type', 'What'], rows)}\n`
}

function config(): string {
  const rows = leafPaths(ConfigSchema, []).map((path) => {
    const schema = at(ConfigSchema, path) as {
      type?: string
      enum?: unknown[]
      default?: unknown
      description?: string
    }
    const kind = schema.enum === undefined ? (schema.type ?? 'map') : schema.enum.join(', ')
    return [
      `\`${path.join('.')}\``,
      `\`GROUNDPLANE_${path.join('_').toUpperCase()}\``,
      kind,
      schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``,
      schema.description ?? '',
    ]
  })
  return `# Configuration\n\nA YAML file (\`groundplane control --config FILE\`); an environment variable counts before it. \`DATABASE_URL\` sets \`database.url\`. Made by \`npm run generate\`.\n\n${table(['Setting', 'Variable', 'Kind', 'Default', 'What'], rows)}\n`
}

function at(schema: TSchema, path: string[]): TSchema {
  return path.reduce(
    (inner, name) => (inner as { properties: Record<string, TSchema> }).properties[name] as TSchema,
    schema,
  )
}

function nodeFields(): string {
  const records = { NodeNet, FrrNode, Disk, LocalpoolSubsystem, ClusterStoreStatus, StorageHealth, StorageMetrics }
  const parts = Object.entries(records).map(([name, schema]) => {
    const fields = schemaFields(schema, Object.keys(records))
    const rows = fields.map(({ path, description }) => [`\`${path}\``, description])
    return `## ${name}\n\n${table(['Field', 'What, and its source on the node'], rows)}\n`
  })
  return `# Where node-local fields come from\n\nMade from the contract by \`npm run generate\`.\n\n${parts.join('\n')}`
}
