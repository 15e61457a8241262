// Loaded into every process of a full test run: writes down each answer that any server of ours gave, as lines of
// `operation status code`. answer-check.ts compares them with the contract.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance } from 'fastify'

/** Names the folder that the lines go to; without it nothing is recorded. */
export const ANSWERS_VARIABLE = 'RECORDED_ANSWERS'

/** A job says in an answer of its own how it failed. */
const FAILURE_CODE = /"failure_code":"([A-Z_]+)"/g
const LONGEST_SEARCHED = 200_000

const folder = process.env[ANSWERS_VARIABLE]
if (folder !== undefined) record(join(folder, `${process.pid}.txt`))

function record(file: string): void {
  const seen = new Set<string>()
  const note = (operation: string, status: number, code: string): void => {
    const line = `${operation} ${status} ${code}\n`
    if (seen.has(line)) return
    seen.add(line)
    // At once, because some of these processes are killed.
    appendFileSync(file, line)
  }
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance }
    fastify.addHook('onSend', async (request, reply, payload) => {
      const operation = request.routeOptions.config.operation
      if (operation === undefined || typeof payload !== 'string' || payload.length > LONGEST_SEARCHED) return
      for (const [, code] of payload.matchAll(FAILURE_CODE)) note(operation, reply.statusCode, code ?? '')
    })
    fastify.addHook('onResponse', async (request, reply) => {
      const operation = request.routeOptions.config.operation ?? 'none'
      note(operation, reply.statusCode, request.state?.code ?? '-')
    })
  })
}
