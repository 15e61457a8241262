/** Domains, accounts, users and their keys, projects. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { denied, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { expunge, putStopped, setVm } from '../machines.ts'
import { text } from '../owner-view.ts'
import { isUuid } from '../params.ts'
import type { Account, Domain, User } from '../records.ts'
import { accountNamed, domainTest, idTest, keywordTest, paged, same } from '../scope.ts'
import { ROLES } from '../seed/tenancy.ts'
import { accountView, domainView, projectView, userView } from '../tenant-view.ts'
import { object } from '../wire.ts'
import { listRows } from './infrastructure.ts'

export const tenants: Commands = {
  listDomains: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const name = same(call, 'name')
    const keyword = keywordTest(call)
    const level = params.int('level')
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
    if (name.includes('/') || name.trim() === '') throw invalid(`Invalid domain name: ${name}`)
    if (
      state.tables.domains.find(
        (one) => one.parentid === parent.id && one.name.toLowerCase() === name.toLowerCase(),
      ) !== null
    )
      throw invalid(`Domain with name ${name} already exists for the parent id=${parent.id}`)
    const networkdomain = checkNetworkDomain(params.text('networkdomain'))
    const id = params.text('domainid') ?? randomUUID()
    if (!isUuid(id) || state.known(id)) throw invalid(`Domain with UUID ${id} already exists or is not a UUID`)
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
    return object(domainView(state, domain, true))
  },
  updateDomain: (call) => {
    const { params, state } = call
    const domain = needDomain(call, params.need('id'))
    if (domain.level === 0) throw denied('ROOT domain can not be edited')
    const name = params.text('name') ?? domain.name
    const parent = state.tables.domains.get(domain.parentid)
    const networkdomain = params.has('networkdomain')
      ? checkNetworkDomain(params.text('networkdomain'))
      : domain.networkdomain
    return object(
      domainView(
        state,
        state.tables.domains.put({ ...domain, name, path: `${parent?.path ?? ''}/${name}`, networkdomain }),
        true,
      ),
    )
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
          throw invalid(
            `Failed to clean up domain resources and sub domains, delete failed on domain ${domain.name}: it has accounts or sub domains`,
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
    if (type === null && roleid === null) throw invalid('Neither account type and role ID are not provided')
    const domain = needDomain(call, params.text('domainid') ?? call.caller.account.domainid)
    const username = params.need('username')
    const name = params.text('account') ?? username
    if (state.tables.accounts.find((one) => one.name === name && one.domainid === domain.id) !== null)
      throw invalid(`The specified account: ${name} already exists`)
    refuseSameUser(call, username, domain.id)
    if (type !== null && ![0, 1, 2, 4].includes(type)) throw invalid(`Invalid account type: ${type}`)
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
  deleteAccount: (call) => {
    const account = needAccount(call)
    return job({
      instancetype: 'Account',
      instanceid: account.id,
      duration_ms: 1000,
      event: {
        type: 'ACCOUNT.DELETE',
        description: 'deleting User account',
        resourcetype: 'Account',
        resourceid: account.id,
        resourcename: account.name,
      },
      end: () => {
        removeAccount(call, account)
        return null
      },
    })
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
  lockAccount: (call) => {
    const account = needAccount(call)
    if (account.state === 'disabled') throw invalid(`Account ${account.name} is disabled and cannot be locked`)
    return object(accountView(call.state, call.state.tables.accounts.put({ ...account, state: 'locked' }), true))
  },
  disableAccount: (call) => {
    const { params, state } = call
    const account = needAccount(call)
    const lock = params.bool('lock') === true
    if (account.id === call.caller.account.id || account.system)
      throw denied("The system account and the caller's own account cannot be disabled or locked")
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
  createUser: (call) => {
    const account = accountNamed(
      call.state,
      call.params.need('account'),
      call.params.text('domainid') ?? call.caller.account.domainid,
    )
    refuseSameUser(call, call.params.need('username'), account.domainid)
    return object(userView(call.state, putUser(call, account)))
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
    const user = needUser(call)
    const apikey = randomBytes(32).toString('base64url')
    const secretkey = createHash('sha256').update(randomBytes(64)).digest('base64url')
    call.state.tables.users.put({ ...user, apikey, secretkey })
    return object({ apikey, secretkey })
  },
  getUserKeys: (call) => {
    const user = needUser(call)
    return object({ apikey: user.apikey, secretkey: user.secretkey, apikeyaccess: user.apikeyaccess })
  },
  listProjects: (call) =>
    listRows(call, call.state.tables.projects.values(), ['name', 'state', 'domainid', 'displaytext'], (one) =>
      projectView(call.state, one),
    ),
  suspendProject: (call) => switchProject(call, 'Suspended'),
  activateProject: (call) => switchProject(call, 'Active'),
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

function checkNetworkDomain(name: string | null): string | null {
  if (
    name !== null &&
    !/^(?=.{1,190}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(name)
  ) {
    throw invalid(
      "Invalid network domain. Total length shouldn't exceed 190 chars. Each domain label must be between 1 and 63 characters long, can contain ASCII letters 'a' through 'z', the digits '0' through '9', and the hyphen ('-')",
    )
  }
  return name
}

function refuseSameUser(call: Call, username: string, domainid: string): void {
  const same = call.state.tables.users.find(
    (one) => one.username === username && call.state.tables.accounts.get(one.accountid)?.domainid === domainid,
  )
  if (same !== null) throw invalid(`The user ${username} already exists in domain ${domainid}`)
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

function switchProject(call: Call, next: 'Active' | 'Suspended'): ReturnType<typeof job> {
  const { state } = call
  const project = state.tables.projects.get(call.params.need('id'))
  if (project === null) throw invalid('Unable to find the project: entity does not exist')
  return job({
    instancetype: 'Project',
    instanceid: project.id,
    duration_ms: 800,
    event: {
      type: next === 'Active' ? 'PROJECT.ACTIVATE' : 'PROJECT.SUSPEND',
      description: `changing project to ${next}`,
      resourcetype: 'Project',
      resourceid: project.id,
      resourcename: text(project['name']),
    },
    end: () => {
      if (next === 'Suspended')
        for (const vm of state.tables.vms.by('project', project.id))
          if (vm.state === 'Running') putStopped(state, vm.id)
      return projectView(state, state.tables.projects.put({ ...project, state: next }))
    },
  })
}
