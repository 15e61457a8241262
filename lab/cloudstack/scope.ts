/** Whose records a list shows, and which part of it: the platform's rules for listall, account, domain, project and paging. */
import { denied, invalid } from './api-fault.ts'
import type { Call } from './call.ts'
import type { Account } from './records.ts'
import type { Json, Owned } from './row.ts'
import type { SimulatorState } from './state.ts'
import { accountText, domainText } from './texts.ts'
import { list } from './wire.ts'
import type { Reply } from './wire.ts'

const MAX_PAGE_SIZE = 500
const ROOT_ADMIN = 1

/** The test that the caller's scope parameters make; a bare id finds project resources too. */
export function visible(call: Call): (owned: Owned) => boolean {
  const { params, state, caller } = call
  const admin = caller.account.accounttype === ROOT_ADMIN
  const projectid = params.text('projectid')
  const name = params.text('account')
  const domainid = params.text('domainid')
  if (name !== null && projectid !== null) throw invalid("Account and projectId can't be specified together")
  if (projectid !== null && projectid !== '-1') return (owned) => owned.projectid === projectid
  if (name !== null) {
    const own = domainid ?? caller.account.domainid
    const account = state.tables.accounts.find((one) => one.name === name && one.domainid === own)
    if (account === null)
      throw invalid(`could not find account ${name} in domain ${domainText(state.tables.domains.get(own))}`)
    if (!admin && account.id !== caller.account.id)
      throw denied(`${caller.account.name} does not have permission to operate with resource ${name}`)
    return (owned) => owned.accountid === account.id && owned.projectid === null
  }
  if (domainid !== null) {
    const inside = domainTest(state, domainid, params.bool('isrecursive') ?? false)
    return (owned) => owned.projectid === null && inside(owned.accountid)
  }
  const byId = params.text('id') !== null || params.list('ids').length > 0
  if (!admin) return (owned) => owned.accountid === caller.account.id
  if (byId) return () => true
  const all = params.bool('listall') ?? false
  if (projectid === '-1') return (owned) => all || owned.projectid !== null
  if (all) return (owned) => owned.projectid === null
  return (owned) => owned.accountid === caller.account.id && owned.projectid === null
}

export function accountNamed(state: SimulatorState, name: string, domainid: string | null): Account {
  const account = state.tables.accounts.find(
    (one) => one.name === name && (domainid === null || one.domainid === domainid),
  )
  if (account === null) throw invalid(`Unable to find account by name ${name} in domain with specified id`)
  return account
}

export function domainTest(
  state: SimulatorState,
  domainid: string,
  recursive: boolean,
): (accountid: string) => boolean {
  const path = state.tables.domains.get(domainid)?.path ?? ''
  return (accountid) => {
    const account = state.tables.accounts.get(accountid)
    if (account === null) return false
    if (account.domainid === domainid) return true
    return (
      recursive &&
      (state.tables.domains.get(account.domainid)?.path.startsWith(`${path === 'ROOT' ? 'ROOT' : path}/`) ?? false)
    )
  }
}

/** The account (and project) that a new thing belongs to. */
export function ownerFor(call: Call): Owned {
  const { params, state, caller } = call
  const projectid = params.text('projectid')
  const name = params.text('account')
  if (name !== null && projectid !== null) throw invalid("Account and projectId can't be specified together")
  if (projectid !== null) {
    const project = state.tables.projects.get(projectid)
    const accountid = project?.['accountid']
    if (typeof accountid !== 'string') throw invalid('Unable to find project by id')
    return { accountid, projectid }
  }
  if (name !== null) {
    const domainid = params.text('domainid')
    if (domainid === null) throw invalid('Account must be specified with domainId parameter')
    const account = accountNamed(state, name, domainid)
    requireUsable(account)
    return { accountid: account.id, projectid: null }
  }
  return { accountid: caller.account.id, projectid: null }
}

export function requireUsable(account: Account): void {
  if (account.state !== 'enabled')
    throw denied(`Can't add resources to the account ${accountText(account)} in state ${account.state}`)
}

/** The page of a list and its whole count. */
export function paged<T>(call: Call, found: readonly T[], view: (one: T) => Json): Reply {
  const { start, size } = window(call)
  return list(found.slice(start, start + size).map(view), found.length)
}

/** As `paged`, for the commands whose count is the length of the page. */
export function pagedByLength<T>(call: Call, found: readonly T[], view: (one: T) => Json): Reply {
  const { start, size } = window(call)
  const rows = found.slice(start, start + size).map(view)
  return list(rows, rows.length)
}

function window(call: Call): { start: number; size: number } {
  const page = call.params.int('page')
  const size = call.params.int('pagesize')
  if (page !== null && size === null) throw invalid('"pagesize" parameter is required when "page" is specified')
  if (size !== null && size !== -1 && page === null)
    throw invalid('"page" parameter is required when "pagesize" is specified')
  if (size !== null && size > MAX_PAGE_SIZE)
    throw invalid(`Page size can't exceed max allowed page size value: ${MAX_PAGE_SIZE}`)
  const rows = size === -1 ? Number.MAX_SAFE_INTEGER : (size ?? MAX_PAGE_SIZE)
  return { start: (Math.max(1, page ?? 1) - 1) * rows, size: rows }
}

/** Case-insensitive part of a name, as `keyword` matches. */
export function keywordTest(call: Call): (...texts: (string | null | undefined)[]) => boolean {
  const keyword = call.params.text('keyword')?.toLowerCase() ?? null
  if (keyword === null) return () => true
  return (...texts) => texts.some((text) => text?.toLowerCase().includes(keyword) === true)
}

/** A filter by exact value: absent parameters let everything through. */
export function same(call: Call, name: string): (value: string | null | undefined) => boolean {
  const wanted = call.params.text(name)
  return wanted === null ? () => true : (value) => value === wanted
}

export function idTest(call: Call): (id: string) => boolean {
  const id = call.params.text('id')
  const ids = call.params.list('ids')
  if (id !== null && ids.length > 0) throw invalid('Specify either id or ids but not both parameters')
  if (id === null && ids.length === 0) return () => true
  const wanted = new Set(id === null ? ids : [id, ...ids])
  return (one) => wanted.has(one)
}

/** Words of `details` that the command does not know are refused by name. */
export function requireDetails(call: Call, allowed: readonly string[]): void {
  if (call.params.list('details').some((name) => !allowed.includes(name)))
    throw invalid(
      `The details parameter contains a non permitted value. The allowed values are [${allowed.join(', ')}]`,
    )
}
