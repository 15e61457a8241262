// Asks every node, for commands about one node that were given none.
import pLimit from 'p-limit'
import type { RouteSpec } from '#src/contract/route.ts'
import { type Answer, call, callAllPages, type CallOptions, type PartialInput } from './call.ts'
import { recordTitle, titleOf } from './columns.ts'
import type { Connection } from './connection.ts'
import { failureLines } from './failures.ts'
import type { Field } from './fields.ts'
import { rowOf } from './name-rows.ts'
import type { RouteTable } from './names.ts'
import { isRecord, type Json, listOf, textOf } from './records.ts'

/** So many nodes are asked at once. */
const AT_ONCE = 8

export interface AllNodes {
  answer: Answer
  /** How many nodes there are. */
  asked: number
  /** Names the records, for their columns. */
  title: string | undefined
  /** Nodes without an answer, each with the reason. */
  silent: string[]
}

/** The input that names the node of a command which may do without one, as long as it was not given. */
export function openNode(fields: readonly Field[], input: PartialInput): Field | undefined {
  const field = fields.find((one) => one.word === 'node' && !one.required && rowOf(one)?.what === 'node')
  return field?.places.some((place) => (input[place] as Json | undefined)?.[field.name] !== undefined) === true
    ? undefined
    : field
}

/** Undefined: no node is registered, so the service is asked for its own machine. */
export async function askAllNodes(
  connection: Connection,
  route: RouteSpec,
  node: Field,
  input: PartialInput,
  options: CallOptions,
  routes: RouteTable,
): Promise<AllNodes | undefined> {
  const list = routes.get('nodeList')
  if (list === undefined) return undefined
  const registered = (listOf((await callAllPages(connection, list, {})).value)?.rows ?? []).filter(isRecord)
  // A machine that never had an agent cannot be silent.
  const nodes = registered.filter(({ agent }) => !isRecord(agent) || agent.enrolled_at !== null)
  if (nodes.length === 0 && node.places.includes('headers')) return undefined
  const limit = pLimit(AT_ONCE)
  const asked = await Promise.all(nodes.map((one) => limit(() => askOne(one))))
  const [first] = asked.flatMap(({ answer }) => answer ?? [])
  const member = first === undefined ? undefined : listOf(first.value)?.member
  const schema = route.ok[200]
  return {
    asked: asked.length,
    title: member === undefined ? titleOf(schema) : recordTitle(schema, member),
    silent: asked.flatMap(({ name, failure }) => (failure === undefined ? [] : [`${name}: ${failure}`])),
    answer: {
      status: first?.status ?? 200,
      text: JSON.stringify({
        nodes: asked.map(({ name, answer, failure }) =>
          answer === undefined ? { node: name, error: failure } : { node: name, answer: answer.value },
        ),
      }),
      value: asked.flatMap(({ name, answer }) => (answer === undefined ? [] : rowsOf(answer.value, name))),
    },
  }

  async function askOne(record: Json): Promise<{ name: string; answer?: Answer; failure?: string }> {
    const id = textOf(record[rowOf(node)?.id ?? 'bmc_ip'])
    const name = textOf(record.hostname) ?? textOf(record.fqdn) ?? textOf(record.bmc_ip) ?? 'a node without a name'
    if (record.status !== 'online') return { name, failure: `is ${String(record.status)}` }
    if (id === undefined) return { name, failure: 'has no address' }
    const [place = 'params'] = node.places
    const given = input[place]
    try {
      const own = { ...input, [place]: { ...(isRecord(given) ? given : {}), [node.name]: id } }
      return { name, answer: await call(connection, route, own, options) }
    } catch (error) {
      const [line = ''] = failureLines(error)
      return { name, failure: line.replace(/^error: /, '') }
    }
  }
}

function rowsOf(value: unknown, node: string): Json[] {
  const rows = listOf(value)?.rows ?? [value]
  return rows.map((row) => (isRecord(row) ? { node, ...row } : { node, value: row }))
}
