// Export and import of whole zones as zone files.
import { Compile } from 'typebox/compile'
import type { dns } from '#src/contract/ddi/dns.ts'
import { RecordInput } from '#src/contract/ddi/dns-records.ts'
import type { Input } from '#src/contract/route.ts'
import type { RecordChange, RecordData } from '#src/drivers/ddi/dns-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import type { DnsDeps } from './deps.ts'
import { nameOf } from './names.ts'
import { requireHead, requirePrimary } from './reading.ts'
import { checkNeighbours, recordOf } from './record-rules.ts'
import { type FileProblem, readZoneFile, writeZoneFile } from './zone-file.ts'

const Form = Compile(RecordInput)

type In<Op extends keyof typeof dns.routes> = Input<(typeof dns.routes)[Op]>

/** So many problems are named; a person mends them and sends the file once more. */
const PROBLEMS_SHOWN = 20

export function dnsZoneExport(deps: DnsDeps) {
  return async ({ params }: In<'dnsZoneExport'>, ctx: RequestContext) => {
    const zone = await requireHead(deps, params.zone_name, ctx.signal)
    const body = writeZoneFile(zone.name, await deps.contents.of(zone))
    const headers = {
      'content-disposition': `attachment; filename="${zone.name.replaceAll(/[^a-z0-9._-]/g, '_')}.zone"`,
    }
    return { media_type: 'text/dns; charset=utf-8', body, headers }
  }
}

export function dnsZoneImport(deps: DnsDeps) {
  return ({ params, body }: In<'dnsZoneImport'>, ctx: RequestContext) => {
    const name = nameOf(params.zone_name)
    const about = {
      resource_type: 'DNS_RECORD',
      resource_uuid: name,
      tenant_id: null,
      description: `Importing a zone file into ${name}.`,
    }
    return recordChange(deps, ctx, about, async (note) => {
      const answer = await deps.lock(async () => importInto(deps, (await requirePrimary(deps, name)).name, body))
      note.description = answer.message
      return answer
    })
  }
}

async function importInto(deps: DnsDeps, zone: string, { zone_file, overwrite = false }: In<'dnsZoneImport'>['body']) {
  const { server, contents } = deps
  const { records, problems, skipped } = readZoneFile(zone, zone_file)
  const there = await server.records(zone)
  const taken = new Set(records.map(({ input }) => `${input.name} ${input.type}`))
  const standing = overwrite ? there.filter((row) => !taken.has(setOf(row, zone))) : there
  const byName = new Map<string, RecordData[]>()
  for (const row of standing) byName.set(row.fqdn, [...(byName.get(row.fqdn) ?? []), row])
  const wanted: RecordData[] = []
  for (const { line, input } of records) {
    try {
      checkForm(input, `line ${line}`)
      const record = recordOf(input, zone, server.limits, `line ${line}`)
      const others = byName.get(record.fqdn) ?? []
      checkNeighbours(record, others)
      byName.set(record.fqdn, [...others, record])
      wanted.push(record)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      problems.push({ line, message: error.message })
    }
  }
  if (problems.length > 0) throw refusedFile(problems)
  const gone = there.filter((row) => row.type !== 'SOA' && !standing.includes(row))
  const changes: RecordChange[] = [
    ...gone.map((old): RecordChange => ({ action: 'delete', old })),
    ...wanted.map((record): RecordChange => ({ action: 'add', record })),
  ]
  try {
    if (changes.length > 0) await server.changeRecords(zone, changes)
  } finally {
    contents.forget(zone)
  }
  const imported = wanted.length
  const message = `${imported} ${imported === 1 ? 'record' : 'records'} imported into ${zone}.`
  return { imported, replaced: gone.length, skipped, success: true, message }
}

/** A file may hold what no request could. */
function checkForm(input: RecordInput, at: string): void {
  if (Form.Check(input)) return
  const [first] = Form.Errors(input)
  const field = first?.instancePath.slice(1) ?? ''
  throw invalidField(`${at}.${field}`, first?.message ?? 'is not valid')
}

function setOf(row: RecordData, zone: string): string {
  return `${row.fqdn === zone ? '@' : `${row.fqdn}.`} ${row.type}`
}

function refusedFile(problems: readonly FileProblem[]): ApiError {
  const sorted = problems.toSorted((a, b) => a.line - b.line).slice(0, PROBLEMS_SHOWN)
  const errors = sorted.map(({ line, message }) => ({ path: `body.zone_file line ${line}`, message }))
  const first = errors[0] ?? { path: 'body.zone_file', message: 'is not valid' }
  const refused = invalidField(first.path, first.message)
  const more =
    problems.length > 1 ? ` and ${problems.length - 1} more problems; nothing was changed` : '; nothing was changed'
  return new ApiError('INVALID_REQUEST', `${refused.message}${more}.`, { errors })
}
