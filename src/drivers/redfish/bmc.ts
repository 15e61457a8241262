// One BMC: what it manages and what it speaks, found by following links from the service root and never by known paths.
import { ApiError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type { ReadOptions, RedfishClient } from './client.ts'
import { type Document, isDocument, linkAt, linksAt, textAt } from './document.ts'
import { RedfishError } from './redfish-error.ts'

/** How a BMC differs from the standard; decided by what it says of itself. */
export type Dialect = 'generic' | 'vendora-8' | 'vendora-9' | 'vendora-10'

export interface Bmc {
  readonly bmc_ip: string
  readonly client: RedfishClient
  readonly log: Log
  graph(options?: ReadOptions): Promise<Graph>
  /** After a 404 on something that was there, and after the BMC restarted. */
  forgetGraph(): void
  close(): Promise<void>
}

/** Paths of what is looked at again and again. */
export interface Graph {
  root: Document
  /** As it was when the graph was made: for links and actions. Values are read again. */
  system: Document
  system_path: string
  manager: Document
  manager_path: string | null
  dialect: Dialect
}

const GRAPH_FOR_MS = 10 * 60_000

export function createBmc(client: RedfishClient, options: { system_id: string | null; log: Log }): Bmc {
  let graph: { made_at: number; value: Promise<Graph> } | undefined
  return {
    bmc_ip: client.address,
    client,
    log: options.log,
    graph(read = {}) {
      if (graph === undefined || performance.now() - graph.made_at > GRAPH_FOR_MS) {
        const made = { made_at: performance.now(), value: discover(client, options.system_id, read) }
        graph = made
        made.value.catch(() => {
          if (graph === made) graph = undefined
        })
      }
      return graph.value
    },
    forgetGraph() {
      graph = undefined
    },
    close: () => client.close(),
  }
}

async function discover(client: RedfishClient, system_id: string | null, read: ReadOptions): Promise<Graph> {
  const root = await client.root(read)
  const { path: system_path, system } = await findSystem(client, root, system_id, read)
  const [manager_path = null] = [
    ...linksAt(system, 'Links', 'ManagedBy'),
    ...(await membersOf(client, linkAt(root, 'Managers'), read)),
  ]
  const manager = manager_path === null ? {} : await optional(client, manager_path, read)
  return { root, system, system_path, manager, manager_path, dialect: dialectOf(system, manager) }
}

async function findSystem(client: RedfishClient, root: Document, system_id: string | null, read: ReadOptions) {
  const paths = await membersOf(client, linkAt(root, 'Systems') ?? '/redfish/v1/Systems', read)
  const named = system_id === null ? paths : paths.filter((path) => path.split('/').at(-1) === system_id)
  const [path] = named
  if (path !== undefined && named.length === 1) return { path, system: await client.get(path, read) }
  const ids = paths.map((one) => one.split('/').at(-1)).join(', ')
  throw new ApiError(
    'BMC_UNSUPPORTED',
    paths.length === 0
      ? `The BMC ${client.address} shows no system.`
      : `The BMC ${client.address} shows the systems ${ids}; name one as system_id of its record.`,
  )
}

/** Paths of a collection’s members; empty where there is none. */
export async function membersOf(client: RedfishClient, path: string | null, read: ReadOptions = {}): Promise<string[]> {
  if (path === null) return []
  const paths: string[] = []
  let at: string | null = path
  for (let pages = 0; at !== null && pages < PAGES_MOST; pages += 1) {
    const collection: Document = await client.get(at, { ...read, optional: true })
    paths.push(...linksAt(collection, 'Members'))
    at = linkAt(collection, 'Members@odata.nextLink')
  }
  return paths
}

const PAGES_MOST = 50

/** An empty document where the BMC does not have it. */
export async function optional(client: RedfishClient, path: string | null, read: ReadOptions = {}): Promise<Document> {
  if (path === null) return {}
  return client.get(path, { ...read, optional: true }).catch((error: unknown) => {
    if (error instanceof RedfishError && error.problem === 'unsupported') return {}
    throw error
  })
}

function dialectOf(system: Document, manager: Document): Dialect {
  const maker = textAt(system, 'Manufacturer') ?? textAt(manager, 'Manufacturer') ?? ''
  const has_oem = isDocument(system.Oem) && isDocument(system.Oem.Dell)
  if (!/^dell\b/i.test(maker) && !has_oem) return 'generic'
  const model = textAt(manager, 'Model') ?? ''
  const generation = Number(/(\d+)G/.exec(model)?.[1] ?? '0')
  if (generation >= 17 || /idrac ?10/i.test(model)) return 'vendora-10'
  const major = Number(/^(\d+)\./.exec(textAt(manager, 'FirmwareVersion') ?? '')?.[1] ?? '0')
  return major >= 4 ? 'vendora-9' : 'vendora-8'
}

/** Where an action of a resource is sent to; null where the resource does not offer it. */
export function actionOf(resource: Document, name: string): { target: string; action: Document } | null {
  const actions = isDocument(resource.Actions) ? resource.Actions : {}
  const action = actions[`#${name}`]
  const target = isDocument(action) ? textAt(action, 'target') : null
  return isDocument(action) && target?.startsWith('/') === true ? { target, action } : null
}

export function unsupported(bmc: Pick<Bmc, 'bmc_ip'>, what: string): ApiError {
  return new ApiError('BMC_UNSUPPORTED', `The BMC ${bmc.bmc_ip} ${what}.`)
}
