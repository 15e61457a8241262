/** Resource limits, and where users come from: directory and SAML settings. */
import { randomUUID } from 'node:crypto'
import { denied, internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { limitOf, RESOURCES } from '../quota.ts'
import type { Json } from '../row.ts'
import { accountNamed, paged, pagedByLength } from '../scope.ts'
import { setting } from '../settings.ts'
import { accountText, domainText } from '../texts.ts'
import { object, success } from '../wire.ts'
import { needDomain } from './tenants.ts'

type Owner = { kind: 'domain' | 'account' | 'project'; id: string }

export const limits: Commands = {
  /** The count is the number of rows; types without a row are filled from the settings. */
  listResourceLimits: (call) => {
    const { params } = call
    const owner = ownerOf(call)
    const type = params.int('resourcetype')
    const name = params.text('resourcetypename')
    if (type !== null && RESOURCES[type] === undefined) throw invalid('Please specify a valid resource type.')
    const types = [...RESOURCES.keys()].filter(
      (one) => (type === null || one === type) && (name === null || RESOURCES[one] === name),
    )
    return pagedByLength(call, types, (one) => limitView(call, owner, one))
  },
  updateResourceLimit: (call) => {
    const { params, state } = call
    const owner = ownerOf(call)
    const type = params.int('resourcetype') ?? -1
    if (RESOURCES[type] === undefined) throw invalid('Please specify valid resource type')
    const max = params.int('max') ?? -1
    if (max < -1) throw invalid("Please specify either '-1' for an infinite limit, or a limit that is at least '0'.")
    const domain = owner.kind === 'domain' ? needDomain(call, owner.id) : null
    if (domain?.level === 0 && call.caller.account.accounttype !== 1)
      throw denied(
        `Account ${accountText(call.caller.account)} does not have permission to operate within domain id=${owner.id}`,
      )
    if (domain?.level === 0) throw denied('Cannot update resource limit for ROOT domain 1, permission denied')
    if (owner.kind === 'account' && max !== -1 && state.tables.accounts.get(owner.id)?.accounttype === 1)
      throw invalid('Only -1 limit is supported for Root Admin accounts')
    const parent = state.tables.domains.get(domain?.parentid)
    if (parent !== null && parent.level > 0) {
      const above = limitOf(state, 'domain', parent.id, type)
      if (above !== -1 && (max === -1 || max > above))
        throw invalid(
          `Domain ${domainText(parent)} has maximum allowed resource limit ${above} for ${RESOURCES[type]}, please specify a value less than or equal to ${above}`,
        )
    }
    state.tables.limits.put({
      id: `${owner.id}/${type}`,
      owner: owner.kind,
      ownerid: owner.id,
      resourcetype: type,
      max,
    })
    return object(limitView(call, owner, type))
  },
  addLdapConfiguration: (call) => {
    const { params, state } = call
    const row = state.tables.ldap.put({
      id: randomUUID(),
      hostname: params.need('hostname'),
      port: params.int('port'),
      domainid: params.text('domainid'),
    })
    return object({ ...row })
  },
  listLdapConfigurations: (call) => {
    const { params, state } = call
    const domainid = params.text('domainid')
    return paged(
      call,
      state.tables.ldap.filter((one) => domainid === null || one['domainid'] === domainid),
      (one) => ({ ...one }),
    )
  },
  deleteLdapConfiguration: (call) => {
    const { params, state } = call
    const row =
      state.tables.ldap.get(params.text('id')) ??
      state.tables.ldap.find(
        (one) =>
          one['hostname'] === params.text('hostname') &&
          (params.text('domainid') === null || one['domainid'] === params.text('domainid')),
      )
    if (row === null)
      throw internal(
        `com.cloud.exception.InvalidParameterValueException: Cannot find configuration with hostname ${params.need('hostname')}`,
      )
    state.tables.ldap.remove(row.id)
    return object({ ...row })
  },
  linkDomainToLdap: (call) => {
    const { params, state } = call
    const domain = needDomain(call, params.need('domainid'))
    const type = params.int('accounttype') ?? -1
    if (setting(state, 'ldap.basedn', domain.id) === '')
      throw invalid('can not link a domain unless a basedn is set for it')
    if (type !== 0 && type !== 2) throw invalid('accountype should be either 0(normal user) or 2(domain admin)')
    if (params.need('type') !== 'GROUP' && params.need('type') !== 'OU')
      throw invalid(`No enum constant org.apache.cloudstack.ldap.LdapManager.LinkType.${params.need('type')}`)
    const name = params.text('ldapdomain') ?? params.text('name')
    if (name === null) throw internal('Unable to link the domain: ldapDomain is needed')
    const link = { domainid: domain.id, type: params.need('type'), ldapdomain: name, name, accounttype: type }
    state.tables.ldaplinks.put({ id: domain.id, ...link })
    return object(link)
  },
  authorizeSamlSso: (call) => {
    const { params, state } = call
    const user = state.tables.users.get(params.need('userid'))
    if (user === null) throw invalid('Unable to find user: entity does not exist')
    const on = params.bool('enable') === true
    state.tables.users.put({ ...user, usersource: on ? 'saml2' : 'native' })
    state.tables.samlauthorizations.put({ id: user.id, userid: user.id, status: on, idpid: params.text('entityid') })
    return success()
  },
  listSamlAuthorization: (call) => {
    const userid = call.params.text('userid')
    return paged(
      call,
      call.state.tables.samlauthorizations.filter((one) => userid === null || one.id === userid),
      (one) => ({ userid: one.id, status: one['status'] ?? false, idpid: one['idpid'] ?? null }),
    )
  },
}

function ownerOf(call: Call): Owner {
  const { params, state } = call
  const projectid = params.text('projectid')
  if (projectid !== null && projectid !== '-1') return { kind: 'project', id: projectid }
  const name = params.text('account')
  const domainid = params.text('domainid')
  if (name !== null) return { kind: 'account', id: accountNamed(state, name, domainid).id }
  if (domainid !== null) return { kind: 'domain', id: needDomain(call, domainid).id }
  return { kind: 'account', id: call.caller.account.id }
}

function limitView(call: Call, owner: Owner, type: number): Record<string, Json> {
  const { tables } = call.state
  const account = owner.kind === 'account' ? tables.accounts.get(owner.id) : null
  const domain = tables.domains.get(owner.kind === 'domain' ? owner.id : (account?.domainid ?? null))
  return {
    resourcetype: String(type),
    resourcetypename: RESOURCES[type] ?? null,
    max: limitOf(call.state, owner.kind, owner.id, type),
    account: account?.name ?? null,
    domainid: domain?.id ?? null,
    domain: domain?.name ?? null,
    domainpath: domain?.path ?? null,
    projectid: owner.kind === 'project' ? owner.id : null,
  }
}
