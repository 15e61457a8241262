/** Domains, accounts, users and their keys, projects. */
import { randomUUID } from 'node:crypto'
import { denied, internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { expunge, putStopped, setVm } from '../machines.ts'
import { text } from '../owner-view.ts'
import { isUuid } from '../params.ts'
import type { Account, Domain, User } from '../records.ts'
import { accountNamed, requireDetails, domainTest, idTest, keywordTest, paged, same } from '../scope.ts'
import { ROLES } from '../seed/tenancy.ts'
import { accountView, domainView, projectView, userView } from '../tenant-view.ts'
import { accountText, domainText, numberOf } from '../texts.ts'
import { object } from '../wire.ts'
import { listRows } from './infrastructure.ts'

export const tenants: Commands = {
  listDomains: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const name = same(call, 'name')
    const keyword = keywordTest(call)
    const level = params.int('level')
    requireDetails(call, ['all', 'resource', 'min'])
    const asked = params.text('id')
    if (asked !== null && isUuid(asked) && !state.tables.domains.has(asked))
      throw invalid(`Domain id=${numberOf(asked)} doesn't exist`)
    const minimal = params.list('details').includes('min')
    const everything =
      params.bool('listall') === true ||
      params.text('id') !== null ||
      params.text('name') !== null ||
      params.text('keyword') !== null
    const own = call.caller.account.domainid
    const found = state.tables.domains.filter(
      (one) =>
        byId(one.id) &&
        name(one.name) &&
        keyword(one.name) &&
        (level === null || one.level === level) &&
        (everything || one.id === own || one.parentid === own),
    )
    return paged(call, found, (one) => domainView(state, one, !minimal))
  },
  createDomain: (call) => {
    const { params, state } = call
    const name = params.need('name')
    const parent = needDomain(call, params.text('parentdomainid') ?? call.caller.account.domainid)
    if (name.includes('/'))
      throw invalid("Domain name contains one or more invalid characters.  Please enter a name without '/' characters.")
    if (
      state.tables.domains.find(
        (one) => one.parentid === parent.id && one.name.toLowerCase() === name.toLowerCase(),
      ) !== null
    )
      throw invalid(`Domain with name [${name}] already exists for the parent with ID [${numberOf(parent.id)}].`)
    const networkdomain = checkNetworkDomain(params.text('networkdomain'), 'should not', '. It')
    const id = params.text('domainid') ?? randomUUID()
    // Any text is taken as the id.
    if (state.known(id)) throw internal('Cannot invoke "com.cloud.domain.DomainVO.getId()" because "domain" is null')
    const domain = state.tables.domains.put({
      id,
      name,
      parentid: parent.id,
      path: `${parent.path}/${name}`,
      level: parent.level + 1,
      state: 'Active',
      networkdomain,
      created: Date.now(),
    })
    call.event({
      type: 'DOMAIN.CREATE',
      description: 'creating Domain',
      resourcetype: 'Domain',
      resourceid: id,
      resourcename: name,
    })
    const { state: _state, created: _created, ...view } = domainView(state, domain, false)
    return object(view)
  },
  deleteDomain: (call) => {
    const { params, state } = call
    const domain = needDomain(call, params.need('id'))
    if (domain.level === 0) throw denied('ROOT domain cannot be deleted')
    return job({
      instancetype: 'Domain',
      instanceid: domain.id,
      duration_ms: 1000,
      event: {
        type: 'DOMAIN.DELETE',
        description: 'deleting Domain',
        resourcetype: 'Domain',
        resourceid: domain.id,
        resourcename: domain.name,
      },
      begin: () => {
        const full =
          state.tables.accounts.by('domain', domain.id).length > 0 ||
          state.tables.domains.find((one) => one.parentid === domain.id) !== null
        if (full && params.bool('cleanup') !== true)
          throw internal(
            `Delete failed on domain ${domainText(domain)}; Please make sure all users and sub domains have been removed from the domain before deleting`,
          )
      },
      end: () => {
        for (const account of [...state.tables.accounts.values()].filter((one) =>
          domainTest(state, domain.id, true)(one.id),
        ))
          removeAccount(call, account)
        for (const range of state.tables.vlans.filter((one) => one.domainid === domain.id))
          state.tables.vlans.put({ ...range, domainid: null, accountid: null })
        for (const one of state.tables.domains.filter((each) => each.path.startsWith(`${domain.path}/`)))
          state.tables.domains.remove(one.id)
        state.tables.domains.remove(domain.id)
        return null
      },
    })
  },
  listAccounts: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const tests = (['name', 'state'] as const).map((name) => ({ name, test: same(call, name) }))
    const keyword = keywordTest(call)
    const type = params.int('accounttype')
    const domainid = params.text('domainid')
    const inside = domainid === null ? null : domainTest(state, domainid, params.bool('isrecursive') ?? false)
    const minimal = params.list('details').includes('min')
    const own =
      params.bool('listall') === true || domainid !== null || params.text('id') !== null ? null : call.caller.account.id
    const found = state.tables.accounts.filter(
      (one) =>
        !one.system &&
        byId(one.id) &&
        keyword(one.name) &&
        (type === null || one.accounttype === type) &&
        (inside === null || inside(one.id)) &&
        (own === null || one.id === own) &&
        tests.every(({ name, test }) => test(one[name])),
    )
    return paged(call, found, (one) => accountView(state, one, !minimal))
  },
  createAccount: (call) => {
    const { params, state } = call
    const type = params.int('accounttype')
    const roleid = params.text('roleid')
    if (roleid === null && (type === null || ![0, 1, 2, 4].includes(type)))
      throw invalid('Neither account type and role ID are not provided')
    const domain = needDomain(call, params.text('domainid') ?? call.caller.account.domainid)
    const username = params.need('username')
    const name = params.text('account') ?? username
    if (state.tables.accounts.find((one) => one.name === name && one.domainid === domain.id) !== null)
      throw invalid(`The specified account: ${name} already exists`)
    refuseSameUser(call, username, domain.id)
    const accounttype = type ?? TYPE_OF_ROLE[text(state.tables.roles.get(roleid)?.['type']) ?? 'User'] ?? 0
    const account = state.tables.accounts.put({
      id: randomUUID(),
      name,
      accounttype,
      roleid: roleid ?? ROLE_OF_TYPE[accounttype] ?? ROLES.user,
      domainid: domain.id,
      state: 'enabled',
      networkdomain: params.text('networkdomain'),
      created: Date.now(),
      system: false,
    })
    putUser(call, account)
    call.event({
      type: 'ACCOUNT.CREATE',
      description: 'creating Account',
      resourcetype: 'Account',
      resourceid: account.id,
      resourcename: name,
    })
    return object(accountView(state, account, true))
  },
  enableAccount: (call) => {
    const account = needAccount(call)
    const next = call.state.tables.accounts.put({ ...account, state: 'enabled' })
    call.event({
      type: 'ACCOUNT.ENABLE',
      description: 'enabling account',
      resourcetype: 'Account',
      resourceid: account.id,
      resourcename: account.name,
    })
    return object(accountView(call.state, next, true))
  },
  disableAccount: (call) => {
    const { params, state } = call
    const account = needAccount(call)
    const lock = params.bool('lock') === true
    return job({
      instancetype: 'Account',
      instanceid: account.id,
      duration_ms: 1200,
      event: {
        type: 'ACCOUNT.DISABLE',
        description: lock ? 'locking account' : 'disabling account',
        resourcetype: 'Account',
        resourceid: account.id,
        resourcename: account.name,
      },
      begin: () => {
        if (account.system) throw internal(`Account: ${accountText(account)} is a system account, lock is not allowed`)
      },
      end: () => {
        const next = state.tables.accounts.put({ ...account, state: lock ? 'locked' : 'disabled' })
        // Disabling stops every machine of the account; locking lets them run.
        if (!lock)
          for (const vm of state.tables.vms.by('account', account.id))
            if (vm.projectid === null && vm.state === 'Running') putStopped(state, vm.id)
        return accountView(state, next, true)
      },
    })
  },
  listUsers: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const tests = (['username', 'state'] as const).map((name) => ({ name, test: same(call, name) }))
    const keyword = keywordTest(call)
    const domainid = params.text('domainid')
    const inside = domainid === null ? null : domainTest(state, domainid, params.bool('isrecursive') ?? false)
    const name = params.text('account')
    const found = state.tables.users.filter(
      (one) =>
        one.username !== 'system' &&
        byId(one.id) &&
        keyword(one.username, one.email) &&
        (inside === null || inside(one.accountid)) &&
        (name === null || state.tables.accounts.get(one.accountid)?.name === name) &&
        tests.every(({ name: field, test }) => test(one[field])),
    )
    return paged(call, found, (one) => userView(state, one))
  },
  updateUser: (call) => {
    const { params, state } = call
    const user = needUser(call)
    const access = params.text('apikeyaccess')?.toUpperCase()
    const next = state.tables.users.put({
      ...user,
      email: params.text('email') ?? user.email,
      firstname: params.text('firstname') ?? user.firstname,
      lastname: params.text('lastname') ?? user.lastname,
      username: params.text('username') ?? user.username,
      password: params.text('password') ?? user.password,
      apikeyaccess: access === 'ENABLED' || access === 'DISABLED' || access === 'INHERIT' ? access : user.apikeyaccess,
    })
    return object(userView(state, next))
  },
  registerUserKeys: (call) => {
    const [apikey, secretkey] = [randomUUID(), randomUUID()]
    call.state.tables.users.put({ ...needUser(call), apikey, secretkey })
    return object({ apikey, secretkey })
  },
  listProjects: (call) =>
    listRows(call, call.state.tables.projects.values(), ['name', 'state', 'domainid', 'displaytext'], (one) =>
      projectView(call.state, one),
    ),
}

const TYPE_OF_ROLE: Readonly<Record<string, number>> = { Admin: 1, DomainAdmin: 2, User: 0, ResourceAdmin: 4 }
const ROLE_OF_TYPE: Readonly<Record<number, string>> = {
  0: ROLES.user,
  1: ROLES.root,
  2: ROLES.domain,
  4: ROLES.resource,
}

export function needDomain(call: Call, id: string): Domain {
  const domain = call.state.tables.domains.get(id)
  if (domain === null) throw invalid(`Unable to find domain with id ${id}: entity does not exist`)
  return domain
}

function needAccount(call: Call): Account {
  const { params, state } = call
  const id = params.text('id')
  if (id === null && params.text('account') === null)
    throw invalid('Either the account id or account name with domain id is needed')
  const account =
    id === null
      ? accountNamed(state, params.text('account') ?? '', params.text('domainid'))
      : state.tables.accounts.get(id)
  if (account === null) throw invalid('Unable to find account: entity does not exist')
  return account
}

function needUser(call: Call): User {
  const user = call.state.tables.users.get(call.params.need('id'))
  if (user === null) throw invalid(`unable to find user for id: entity does not exist`)
  return user
}

export function checkNetworkDomain(name: string | null, not = "shouldn't", it = ','): string | null {
  if (
    name !== null &&
    !/^(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(name)
  ) {
    throw invalid(
      `Invalid network domain. Total length ${not} exceed 190 chars. Each domain label must be between 1 and 63 characters long${it} can contain ASCII letters 'a' through 'z', the digits '0' through '9', and the hyphen ('-'); can't start or end with "-"`,
    )
  }
  return name
}

function refuseSameUser(call: Call, username: string, domainid: string): void {
  const same = call.state.tables.users.find(
    (one) => one.username === username && call.state.tables.accounts.get(one.accountid)?.domainid === domainid,
  )
  if (same !== null)
    throw invalid(
      `The user ${username} already exists in domain ${domainText(call.state.tables.domains.get(domainid))}`,
    )
}

function putUser(call: Call, account: Account): User {
  const { params, state } = call
  return state.tables.users.put({
    id: randomUUID(),
    username: params.need('username'),
    firstname: params.need('firstname'),
    lastname: params.need('lastname'),
    email: params.need('email'),
    accountid: account.id,
    state: 'enabled',
    created: Date.now(),
    apikey: null,
    secretkey: null,
    password: params.need('password'),
    usersource: 'native',
    apikeyaccess: 'INHERIT',
  })
}

function removeAccount(call: Call, account: Account): void {
  const { tables } = call.state
  for (const vm of tables.vms.by('account', account.id)) {
    setVm(call.state, vm.id, { state: 'Expunging', hostid: null })
    expunge(call.state, vm.id)
  }
  for (const volume of tables.volumes.by('account', account.id)) tables.volumes.remove(volume.id)
  for (const address of tables.addresses.filter((one) => one.accountid === account.id && one.state !== 'Free'))
    tables.addresses.put({
      ...address,
      state: 'Free',
      allocated: null,
      issourcenat: false,
      isstaticnat: false,
      associatednetworkid: null,
      virtualmachineid: null,
      vmipaddress: null,
    })
  for (const network of tables.networks.filter((one) => one.accountid === account.id))
    tables.networks.remove(network.id)
  for (const user of tables.users.by('account', account.id)) tables.users.remove(user.id)
  tables.accounts.remove(account.id)
}
