// The fields of a record's schema as rows of the reference: path and description.

export interface SchemaField {
  /** `vnis[].mac_table[].mac`; a list of plain values ends in `[]`. */
  path: string
  description: string
}

/** Every leaf in the order of the schema. Records with a title in `whole` have a table of their own and count as one field. */
export function schemaFields(schema: object, whole: readonly string[] = [], path = '', above = ''): SchemaField[] {
  const inner = withoutNull(schema)
  const own = text(schema, 'description') || text(inner, 'description')
  const description = own === '' ? above : own
  if (path !== '' && whole.includes(text(inner, 'title'))) return [{ path, description }]
  const properties: unknown = Reflect.get(inner, 'properties')
  if (isObject(properties)) {
    return Object.entries(properties).flatMap(([name, member]: [string, unknown]) =>
      isObject(member) ? schemaFields(member, whole, path === '' ? name : `${path}.${name}`) : [],
    )
  }
  const items: unknown = Reflect.get(inner, 'items')
  return isObject(items) ? schemaFields(items, whole, `${path}[]`, description) : [{ path, description }]
}

function withoutNull(schema: object): object {
  const any: unknown = Reflect.get(schema, 'anyOf')
  if (!Array.isArray(any)) return schema
  const options: unknown[] = any
  return options.find((one): one is object => isObject(one) && Reflect.get(one, 'type') !== 'null') ?? schema
}

function text(schema: object, key: string): string {
  const value: unknown = Reflect.get(schema, key)
  return typeof value === 'string' ? value : ''
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
