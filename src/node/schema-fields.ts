// Lists the fields of a record's schema as paths, so that a test can hold each to exactly one declared source.
/**
 * Every leaf in the order of the schema: `vnis[].mac_table[].mac`. A list of plain values ends in `[]`. Records whose
 * title is in `whole` have sources of their own and count as one field.
 */
export function schemaFields(schema: object, whole: readonly string[] = [], path = ''): string[] {
  const inner = withoutNull(schema)
  const title: unknown = Reflect.get(inner, 'title')
  if (path !== '' && typeof title === 'string' && whole.includes(title)) return [path]
  const properties: unknown = Reflect.get(inner, 'properties')
  if (isObject(properties)) {
    return Object.entries(properties).flatMap(([name, member]: [string, unknown]) =>
      isObject(member) ? schemaFields(member, whole, path === '' ? name : `${path}.${name}`) : [],
    )
  }
  const items: unknown = Reflect.get(inner, 'items')
  return isObject(items) ? schemaFields(items, whole, `${path}[]`) : [path]
}

function withoutNull(schema: object): object {
  const any: unknown = Reflect.get(schema, 'anyOf')
  if (!Array.isArray(any)) return schema
  const options: unknown[] = any
  return options.find((one): one is object => isObject(one) && Reflect.get(one, 'type') !== 'null') ?? schema
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
