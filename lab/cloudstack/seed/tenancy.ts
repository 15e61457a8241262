/** Domains, accounts, users and the one project. */
import { seededId, tenantName, wellKnown } from '../../site.ts'
import type { SiteSize } from '../../site.ts'
import type { SimulatorState } from '../state.ts'
import type { AdminKeys } from './seed.ts'

export const ROLES = {
  root: seededId('role', 'Root Admin'),
  domain: seededId('role', 'Domain Admin'),
  user: seededId('role', 'User'),
  resource: seededId('role', 'Resource Admin'),
}

export function seedTenancy(state: SimulatorState, size: SiteSize, keys: AdminKeys): void {
  const { tables } = state
  const created = state.seeded_at - 80 * 86_400_000
  const roles: [string, string, string][] = [
    [ROLES.root, 'Root Admin', 'Admin'],
    [ROLES.resource, 'Resource Admin', 'ResourceAdmin'],
    [ROLES.domain, 'Domain Admin', 'DomainAdmin'],
    [ROLES.user, 'User', 'User'],
  ]
  for (const [id, name, type] of roles)
    tables.roles.put({
      id,
      name,
      type,
      description: `Default ${name} role`,
      isdefault: true,
      ispublic: true,
      state: 'enabled',
    })
  tables.domains.put({
    id: wellKnown.domains.ROOT,
    name: 'ROOT',
    parentid: null,
    path: 'ROOT',
    level: 0,
    state: 'Active',
    networkdomain: null,
    created,
  })
  tables.accounts.put({
    id: wellKnown.accounts.admin,
    name: 'admin',
    accounttype: 1,
    roleid: ROLES.root,
    domainid: wellKnown.domains.ROOT,
    state: 'enabled',
    networkdomain: null,
    created,
    system: false,
  })
  tables.accounts.put({
    id: seededId('account', 'system'),
    name: 'system',
    accounttype: 1,
    roleid: ROLES.root,
    domainid: wellKnown.domains.ROOT,
    state: 'enabled',
    networkdomain: null,
    created,
    system: true,
  })
  putUser(state, {
    username: 'admin',
    accountid: wellKnown.accounts.admin,
    apikey: keys.api_key,
    secretkey: keys.secret_key,
    created,
  })
  putUser(state, {
    username: 'system',
    accountid: seededId('account', 'system'),
    apikey: null,
    secretkey: null,
    created,
  })
  for (let index = 0; index < size.tenants; index += 1) seedTenant(state, tenantName(index), created, size.vms > 200)
  tables.projects.put({
    id: wellKnown.project,
    name: 'acme-staging',
    displaytext: 'Staging of acme',
    domainid: seededId('domain', tenantName(0)),
    accountid: seededId('account', tenantName(0)),
    state: 'Active',
    created,
  })
}

/** The limits are set apart from the defaults, so that a seeded tenant is never full by accident. */
function seedTenant(state: SimulatorState, name: string, created: number, roomy: boolean): void {
  const { tables } = state
  const id = seededId('domain', name)
  tables.domains.put({
    id,
    name,
    parentid: wellKnown.domains.ROOT,
    path: `ROOT/${name}`,
    level: 1,
    state: 'Active',
    networkdomain: `${name}.example`,
    created,
  })
  const accountid = seededId('account', name)
  tables.accounts.put({
    id: accountid,
    name,
    accounttype: 2,
    roleid: ROLES.domain,
    domainid: id,
    state: 'enabled',
    networkdomain: null,
    created,
    system: false,
  })
  putUser(state, { username: `${name}-admin`, accountid, apikey: null, secretkey: null, created })
  const limits: [number, number][] = [
    [0, 60],
    [1, 40],
    [2, 120],
    [8, 400],
    [9, 819_200],
    [10, 20_000],
  ]
  for (const owner of ['domain', 'account'] as const) {
    const ownerid = owner === 'domain' ? id : accountid
    for (const [resourcetype, max] of limits)
      tables.limits.put({ id: `${ownerid}/${resourcetype}`, owner, ownerid, resourcetype, max: roomy ? -1 : max })
  }
}

function putUser(
  state: SimulatorState,
  user: { username: string; accountid: string; apikey: string | null; secretkey: string | null; created: number },
): void {
  state.tables.users.put({
    id: seededId('user', user.username),
    firstname: user.username,
    lastname: 'user',
    email: `${user.username}@example.org`,
    state: 'enabled',
    password: `${user.username}-password`,
    usersource: 'native',
    apikeyaccess: 'INHERIT',
    ...user,
  })
}
