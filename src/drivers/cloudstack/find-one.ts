// Reads one thing by its id. The platform answers an unknown or malformed id with an error, and a thing outside of the
// scope asked for with nothing or another error; all are "there is none" to us.
import type { Args } from './args.ts'
import type { CloudStack } from './client.ts'
import { type Raw, rowsOf } from './fields.ts'
import type { ListOptions } from './lists.ts'
import { CloudStackError } from './platform-error.ts'

export async function findOne(
  cloudstack: CloudStack,
  command: string,
  key: string,
  args: Args,
  options: ListOptions = {},
): Promise<Raw | undefined> {
  try {
    const content = await cloudstack.call(command, { ...args, page: 1, pagesize: 2 }, options)
    return rowsOf(content, key)[0]
  } catch (error) {
    if (error instanceof CloudStackError && (error.status === 431 || error.status === 531)) return undefined
    throw error
  }
}

const AT_ONCE = 20

/** One row for each id, in their order, for lists that take no `ids`. */
export async function findEach(
  cloudstack: CloudStack,
  command: string,
  key: string,
  ids: readonly string[],
  args: Args,
  options: ListOptions = {},
): Promise<(Raw | undefined)[]> {
  const rows: (Raw | undefined)[] = []
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    const some = ids.slice(first, first + AT_ONCE)
    rows.push(...(await Promise.all(some.map((id) => findOne(cloudstack, command, key, { ...args, id }, options)))))
  }
  return rows
}
