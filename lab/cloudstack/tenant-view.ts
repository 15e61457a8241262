/** Domains, accounts and users as they are answered, with what they use and may use. */
import { text } from './owner-view.ts'
import { domainUse, limitOf, RESOURCES, useOf } from './quota.ts'
import type { Use } from './quota.ts'
import type { Account, Domain, User } from './records.ts'
import type { Json, Row } from './row.ts'
import type { SimulatorState } from './state.ts'
import { wireDate } from './wire.ts'

type Fields = Record<string, Json>

/** The stems of the …total, …limit and …available fields by resource type. */
const STEMS = [
  'vm',
  'ip',
  'volume',
  'snapshot',
  'template',
  'project',
  'network',
  'vpc',
  'cpu',
  'memory',
  'primarystorage',
  'secondarystorage',
  'backup',
  'backupstorage',
  'bucket',
  'objectstorage',
  'gpu',
] as const

export function domainView(state: SimulatorState, one: Domain, withResources: boolean): Fields {
  const parent = state.tables.domains.get(one.parentid)
  return {
    id: one.id,
    name: one.name,
    level: one.level,
    parentdomainid: parent?.id ?? null,
    parentdomainname: parent?.name ?? null,
    haschild: state.tables.domains.find((each) => each.parentid === one.id) !== null,
    networkdomain: one.networkdomain,
    path: one.path,
    state: one.state,
    created: wireDate(one.created),
    hasannotations: false,
    ...(withResources ? resources(state, 'domain', one.id, domainUse(state, one.id)) : {}),
  }
}

export function accountView(state: SimulatorState, one: Account, withResources: boolean): Fields {
  const domain = state.tables.domains.get(one.domainid)
  const role = state.tables.roles.get(one.roleid)
  const use = withResources ? useOf(state, one.id) : null
  return {
    id: one.id,
    name: one.name,
    accounttype: one.accounttype,
    roleid: one.roleid,
    roletype: text(role?.['type']),
    rolename: text(role?.['name']),
    domainid: one.domainid,
    domain: domain?.name ?? null,
    domainpath: domain?.path ?? null,
    state: one.state,
    created: wireDate(one.created),
    networkdomain: one.networkdomain,
    isdefault: one.name === 'admin',
    iscleanuprequired: false,
    apikeyaccess: 'INHERIT',
    groups: [],
    user: state.tables.users.by('account', one.id).map((user) => userView(state, user)),
    ...(use === null
      ? {}
      : {
          vmrunning: use.running,
          vmstopped: use.stopped,
          receivedbytes: 0,
          sentbytes: 0,
          ...resources(state, 'account', one.id, use),
        }),
  }
}

export function userView(state: SimulatorState, one: User): Fields {
  const account = state.tables.accounts.get(one.accountid)
  const domain = state.tables.domains.get(account?.domainid)
  return {
    id: one.id,
    username: one.username,
    firstname: one.firstname,
    lastname: one.lastname,
    email: one.email,
    created: wireDate(one.created),
    state: one.state,
    account: account?.name ?? null,
    accountid: one.accountid,
    accounttype: account?.accounttype ?? null,
    usersource: one.usersource,
    roleid: account?.roleid ?? null,
    roletype: text(state.tables.roles.get(account?.roleid)?.['type']),
    rolename: text(state.tables.roles.get(account?.roleid)?.['name']),
    iscallerchilddomain: false,
    domainid: domain?.id ?? null,
    domain: domain?.name ?? null,
    apikey: one.apikey,
    isdefault: one.username === 'admin',
    is2faenabled: false,
    is2famandated: false,
  }
}

export function projectView(state: SimulatorState, one: Row): Fields {
  const account = state.tables.accounts.get(text(one['accountid']))
  const user = state.tables.users.by('account', account?.id ?? null)[0]
  return {
    id: one.id,
    name: text(one['name']),
    displaytext: text(one['displaytext']),
    domainid: text(one['domainid']),
    domain: state.tables.domains.get(text(one['domainid']))?.name ?? null,
    owner: [{ account: account?.name ?? null, accountid: account?.id ?? null, userid: user?.id ?? null }],
    projectaccountname: `PrjAcct-${text(one['name']) ?? ''}-1`,
    state: text(one['state']),
    created: typeof one['created'] === 'number' ? wireDate(one['created']) : null,
    tags: [],
  }
}

/** Totals are numbers, limits and what is left are texts: a number or "Unlimited". */
function resources(state: SimulatorState, owner: 'domain' | 'account', id: string, use: Use): Fields {
  const fields: Fields = {}
  for (const [type] of RESOURCES.entries()) {
    const stem = STEMS[type]
    if (stem === undefined) continue
    const total = use.by[type] ?? 0
    const max = limitOf(state, owner, id, type)
    fields[`${stem}total`] = total
    fields[`${stem}limit`] = max === -1 ? 'Unlimited' : String(max)
    fields[`${stem}available`] = max === -1 ? 'Unlimited' : String(Math.max(0, max - total))
  }
  return fields
}
