// The audit log of a job as lines of text: as it comes, or as far as it is.
import { call } from './call.ts'
import { timeText } from './cells.ts'
import type { Connection } from './connection.ts'
import type { RouteTable } from './names.ts'
import { isRecord, type Json, textOf } from './records.ts'
import type { CommonOptions } from './route-options.ts'
import { oneLine, printLine, type Terminal } from './terminal.ts'

/** What has been printed of a job's log. */
export interface JobLog {
  /** Lines after this number have not been printed. */
  after_seq: number
  /** Prints the lines that were asked for by `after_seq`. False: there was none. */
  print(job: Json): boolean
}

export function createJobLog({ utc, json, quiet }: CommonOptions, terminal: Terminal): JobLog {
  return {
    after_seq: 0,
    print(job) {
      const lines = Array.isArray(job.log) ? job.log.filter(isRecord) : []
      for (const line of lines) {
        this.after_seq = Math.max(this.after_seq, Number(line.seq))
        if (quiet) continue
        const words = [timeText(textOf(line.at) ?? '', utc), textOf(line.step) || '-', textOf(line.text) ?? '-']
        printLine(terminal, json ? JSON.stringify(line) : oneLine(words.join(' ')))
      }
      return lines.length > 0
    },
  }
}

/** Prints what there is, from its first line on. */
export async function printLog(connection: Connection, id: string, routes: RouteTable, log: JobLog): Promise<void> {
  const route = routes.get('jobGet')
  for (let more = route !== undefined; more && route !== undefined; ) {
    const { value } = await call(connection, route, { params: { id }, query: { after_seq: log.after_seq } })
    more = isRecord(value) && log.print(value)
  }
}
