// What the console knows of the contract: a short row an operation for all of its pages, and the schemas for its forms.
import type { TObject, TSchema } from 'typebox'
import { areas } from '#src/contract/index.ts'
import { firstStatus, type RouteSpec, routeEffect, takesIdempotencyKey } from '#src/contract/route.ts'
import type { OperationDetails, OperationRow } from '#src/console/api/contract-types.ts'

/** What people call from a page: not pages themselves, streams and bytes, nor calls of machines. */
function callable(route: RouteSpec): boolean {
  const by_people = ['viewer', 'operator', 'admin'].includes(route.access)
  return by_people && route.hidden !== true && (route.kind ?? 'json') === 'json'
}

const rows = areas.flatMap((area) =>
  Object.entries(area.routes)
    .filter(([, route]) => callable(route))
    .map(([operation, route]) => ({ area, operation, route })),
)

export function contractTable(): Record<string, OperationRow> {
  return Object.fromEntries(
    rows.map(({ area, operation, route }) => [
      operation,
      {
        method: route.method,
        path: route.path,
        summary: route.summary,
        access: route.access as OperationRow['access'],
        tenant: route.tenant ?? 'none',
        effect: routeEffect(route),
        area: area.name,
        list: listName(route),
        paged: isPaged(route),
        sorts: sortNames(route),
        ids: idNames(route),
        on_node: route.runs_on === 'node',
        takes_key: takesIdempotencyKey(route),
        resource_type: route.event?.resource_type ?? null,
      },
    ]),
  )
}

/** How the commands of the operations are written. */
export type Commands = Readonly<Record<string, OperationDetails['command']>>

export function contractDetails(commands: Commands): Record<string, OperationDetails> {
  return Object.fromEntries(
    rows.map(({ area, operation, route }) => [
      operation,
      {
        description: route.description ?? '',
        area_description: area.description,
        params: route.params ?? null,
        query: route.query ?? null,
        body: route.body ?? null,
        item: itemOf(route),
        command: commands[operation],
        example: { params: route.example.params, query: route.example.query, body: route.example.body },
      } as OperationDetails,
    ]),
  )
}

/** Of an answer with one list and its count: the name of the list. */
function listName(route: RouteSpec): string | null {
  const asked = [...requiredOf(route.params), ...requiredOf(route.query)]
  if (routeEffect(route) !== 'read' || asked.length > 0) return null
  if (route.method !== 'GET' && requiredOf(route.body).length > 0) return null
  const properties = answerOf(route)
  const lists = Object.entries(properties).filter(([, schema]) => isListOfObjects(schema))
  const is_counted = 'count' in properties || 'total_count' in properties
  return is_counted && lists.length === 1 ? (lists[0]?.[0] ?? null) : null
}

/** What the columns of a list are made of. */
function itemOf(route: RouteSpec): TSchema | null {
  const list = listName(route)
  return list === null ? null : ((answerOf(route)[list] as { items?: TSchema } | undefined)?.items ?? null)
}

/** Members of the answer, without the envelope that addresses have around theirs. */
function answerOf(route: RouteSpec): Record<string, TSchema> {
  const { properties = {} } = (route.ok[firstStatus(route)] ?? {}) as Partial<TObject>
  const { properties: enveloped } = ('success' in properties ? (properties.data ?? {}) : {}) as Partial<TObject>
  return enveloped ?? properties
}

/** Keyset lists ignore the number of the page. */
function isPaged(route: RouteSpec): boolean {
  const { properties = {} } = ((route.method === 'GET' ? route.query : route.body) ?? {}) as Partial<TObject>
  return 'page' in properties && !('after_id' in properties)
}

function sortNames(route: RouteSpec): string[] {
  const { properties = {} } = ((route.method === 'GET' ? route.query : route.body) ?? {}) as Partial<TObject>
  return ((properties.sort_by as { enum?: string[] } | undefined)?.enum ?? []).filter(() => 'sort_order' in properties)
}

function isListOfObjects(schema: TSchema): boolean {
  const { type, items } = schema as { type?: string; items?: { type?: string } }
  return type === 'array' && items?.type === 'object'
}

/** What must be named for the call: parts of the path, and required members of the body that are ids. */
function idNames(route: RouteSpec): string[] {
  const in_path = [...route.path.matchAll(/\{(\w+)\*?\}/g)].map(([, name]) => name ?? '')
  return [...in_path, ...requiredOf(route.body).filter((name) => name === 'id' || name.endsWith('_id'))]
}

function requiredOf(schema: TSchema | undefined): string[] {
  return ((schema as Partial<TObject> | undefined)?.required as string[] | undefined) ?? []
}
