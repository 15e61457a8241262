// Who owns a thing that an account of a tenant has under a name: in records, and in requests that make one.
import { Type } from 'typebox'
import { NullableText, OptionalId, Words } from '../common.ts'

export const OwnedFields = {
  tenant_id: NullableText('Tenant that owns it.'),
  tenant_name: NullableText(),
  account: NullableText('Account within the tenant.'),
  project_id: NullableText(),
}

export const NewOwnerFields = {
  domain_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Tenant; the caller’s own when left out.' }),
  ),
  account: Words('Account within the tenant; needs domain_id, excludes project_id.'),
  project_id: OptionalId,
}
