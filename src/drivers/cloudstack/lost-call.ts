// Calls that the platform answers at once, and whose answer may be lost: what the platform shows then tells whether the
// change was made, so that nobody orders it a second time.
import { isLostAnswer } from '#src/kernel/lost-answers.ts'
import type { Args } from './args.ts'
import type { CloudStack } from './client.ts'
import { type Raw, rowsOf, textOf } from './fields.ts'
import { PAGE_SIZE } from './lists.ts'
import { findMismatch, type Postcondition, verify } from './postcondition.ts'

/** Where the platform lists what a call makes, by what is known before it is made. */
export interface Listing {
  command: string
  key: string
  args: Args
}

/** A call may still be on its way when its connection broke, so the platform is asked several times. */
const ASK_AGAIN_MS = [250, 750, 2000]
/** The caller waits. */
const PATIENCE_MS = 10_000

/** The answer; undefined when it was lost, and the platform shows everything that the call was to leave behind. */
export async function answerUnlessShown<T>(
  cloudstack: CloudStack,
  postconditions: readonly Postcondition[],
  send: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await send()
  } catch (error) {
    if (!isLostAnswer(error) || postconditions.length === 0) throw error
    for (const postcondition of postconditions) {
      const mismatch = await findMismatch(cloudstack, postcondition, { patience_ms: PATIENCE_MS }).catch(() => error)
      if (mismatch !== null) throw error
    }
    return undefined
  }
}

/** Sends a change, and throws unless the platform shows it. */
export async function changeAndVerify(
  cloudstack: CloudStack,
  postcondition: Postcondition,
  patience: { patience_ms: number },
  send: () => Promise<unknown>,
): Promise<void> {
  await answerUnlessShown(cloudstack, [postcondition], send)
  await verify(cloudstack, postcondition, patience)
}

/** Makes a thing, and answers its id once the platform shows it. `made` names it by `$id`. */
export async function makeAndVerify(
  cloudstack: CloudStack,
  listing: Listing,
  made: Postcondition,
  patience: { patience_ms: number },
  send: () => Promise<Raw | undefined>,
): Promise<string> {
  const row = await madeOrListed(cloudstack, listing, send)
  const made_id = row === undefined ? null : textOf(row, 'id')
  await verify(cloudstack, made, { ...patience, made_id })
  if (made_id === null) throw new Error('a thing without an id was verified')
  return made_id
}

/**
 * The row of what the call has made. When the answer was lost it is the one that the platform lists now and did not list
 * before; of several nobody can tell which.
 */
export async function madeOrListed(
  cloudstack: CloudStack,
  listing: Listing,
  send: () => Promise<Raw | undefined>,
): Promise<Raw | undefined> {
  const before = new Set((await listed(cloudstack, listing)).keys())
  try {
    return await send()
  } catch (error) {
    if (!isLostAnswer(error)) throw error
    for (const wait_ms of ASK_AGAIN_MS) {
      await cloudstack.pause(wait_ms)
      const rows = await listed(cloudstack, listing).catch(() => new Map<string, Raw>())
      const [made, ...others] = [...rows].filter(([id]) => !before.has(id))
      if (made !== undefined && others.length === 0) return made[1]
    }
    throw error
  }
}

async function listed(cloudstack: CloudStack, { command, key, args }: Listing): Promise<Map<string, Raw>> {
  const content = await cloudstack.call(command, { ...args, page: 1, pagesize: PAGE_SIZE })
  return new Map(rowsOf(content, key).map((row) => [textOf(row, 'id') ?? '', row]))
}
