// Where the users of a tenant sign in (Part 3, 4.9).
import { type Static, Type } from 'typebox'
import { Closed, Nullable, OneOf } from '../common.ts'

const Line = (description: string) =>
  Type.String({ minLength: 1, maxLength: 1000, pattern: '^[^\\r\\n\\0]+$', description })

const ldapShown = {
  hostname: Type.String({
    maxLength: 253,
    pattern: '^[A-Za-z0-9]([A-Za-z0-9.:-]*[A-Za-z0-9])?$',
    description: 'Name or address of the directory server.',
  }),
  port: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 65_535, default: 389, description: '389, or 636 with TLS.' }),
  ),
  base_dn: Line('Where users are searched.'),
  bind_dn: Type.Optional(Line('Who reads the directory; needs bind_password.')),
  group: Line('Group or unit whose members belong to the tenant.'),
  group_type: Type.Optional(OneOf(['GROUP', 'OU'], { default: 'GROUP', description: 'What `group` names.' })),
  provider: Type.Optional(OneOf(['openldap', 'microsoftad'], { description: 'Kind of directory.' })),
  account_type: Type.Optional(
    OneOf(['user', 'domain_admin'], { default: 'user', description: 'What an account made at first sign-in may do.' }),
  ),
  admin: Type.Optional(Line('User of the directory who becomes the domain admin.')),
}

export const LdapSettings = Closed(
  { ...ldapShown, bind_password: Type.Optional(Type.String({ minLength: 1, maxLength: 1000, 'x-secret': true })) },
  { title: 'LdapSettings', description: 'Needed for ldap.', 'x-extension': true },
)
export type LdapSettings = Static<typeof LdapSettings>

export const AuthSourceChange = Closed(
  {
    auth_source: OneOf(['local', 'ldap', 'oidc', 'saml']),
    ldap: Type.Optional(LdapSettings),
    saml: Type.Optional(
      Closed(
        {
          identity_provider_id: Type.Optional(Line('Entity id of the identity provider; the only one when left out.')),
        },
        { title: 'SamlSettings', 'x-extension': true },
      ),
    ),
  },
  { title: 'AuthSourceChange' },
)
export type AuthSourceChange = Static<typeof AuthSourceChange>

export const AuthSourceAnswer = Type.Object(
  {
    tenant_id: Type.String(),
    auth_source: OneOf(['local', 'ldap', 'oidc', 'saml']),
    message: Type.String(),
    settings: Nullable(
      Type.Object(
        {
          ...ldapShown,
          hostname: Type.Optional(Type.String()),
          base_dn: Type.Optional(Type.String()),
          group: Type.Optional(Type.String()),
          has_bind_password: Type.Optional(Type.Boolean({ description: 'A password is kept, encrypted.' })),
          identity_provider_id: Type.Optional(Type.String()),
          users: Type.Optional(Type.Integer({ minimum: 0, description: 'Users switched to the identity provider.' })),
        },
        { title: 'AuthSourceSettings' },
      ),
    ),
  },
  { title: 'TenantAuthSource' },
)
