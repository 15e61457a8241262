// One way to change something in another system: submit once, survive a lost answer, follow to the end, verify. What is
// about to be sent is saved before it is sent, so that after a crash the next process looks for it instead of repeating it.
import { randomUUID } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { isLostAnswer, untilAnswered } from '#src/kernel/lost-answers.ts'
import type { Log } from '#src/kernel/log.ts'
import type { LogLevel } from './define.ts'

const Submission = Type.Object({
  /** Chosen here; the other system knows the submission by it, where it keeps such ids. */
  id: Type.String(),
  accepted: Type.Boolean(),
  /** Id of what it has made, where it makes something. */
  made: Type.Union([Type.String(), Type.Null()]),
})
export type Submission = Static<typeof Submission>

/** Member `submissions` of the state of every job that submits; keyed by the name of the change. */
export const Submissions = Type.Record(Type.String(), Submission)
type Submissions = Static<typeof Submissions>

type Made = Pick<Submission, 'made'>

export interface Change {
  /** Unique within the job. */
  name: string
  /** As people call the other system. */
  system: string
  /** Of the submission; a random one when left out. */
  id?: string | undefined
  /** Sends it. Answers the id of what it makes, null where it makes nothing or does not say. */
  submit(id: string): Promise<string | null>
  /** What a submission has left whose answer was lost; undefined: no trace of it. */
  find(id: string): Promise<Made | undefined>
  /**
   * Whether a submission without a trace may be sent again. It may still be on its way, so only where two of them do no
   * more than one: the other system refuses the second, or the change sets something that stays as it is.
   */
  repeatable: boolean
}

export interface FollowedChange extends Change {
  /**
   * Waits for the end, and throws when the other system says that it failed. Undefined: it ended without an outcome, or
   * is not known there any more. Left out where the answer to the submission is the end.
   */
  follow?(submission: Submission): Promise<Made | undefined>
  /** What is to be seen instead of the change; null when the change is to be seen. Left out where it leaves no trace. */
  verify?: ((submission: Submission) => Promise<string | null>) | undefined
}

/** What is needed of a run. */
export interface SubmitRun {
  readonly signal: AbortSignal
  readonly state: { readonly submissions?: Submissions }
  save(change: { submissions: Submissions }): Promise<void>
  readonly log: Log
  note(level: LogLevel, text: string): Promise<void>
  settled(): Promise<void>
}

const SENDS = 3
const ANSWER_WITHIN_MS = 5 * 60_000

/** The whole change within one step; it may be repeated. */
export async function changeOnce(run: SubmitRun, change: FollowedChange): Promise<Submission> {
  for (let tried = 1; ; tried += 1) {
    await submitOnce(run, change)
    const failure = await failureOf(async () => {
      await followSubmission(run, change)
      await verifySubmission(run, change)
    })
    const submission = submissionOf(run, change)
    if (failure === undefined) return submission
    // What was made once stays known, so that it can be removed.
    if (!change.repeatable) throw failure
    await keep(run, change, undefined)
    // Whatever became of the submission: what is shown is done.
    if ((await change.verify?.(submission)) === null) return submission
    const interrupted = failure instanceof ApiError && failure.code === 'JOB_INTERRUPTED'
    if (!interrupted || tried === SENDS) throw failure
  }
}

/** Returns when the other system has taken the change over: from then on it can only succeed or fail there. */
export async function submitOnce(run: SubmitRun, change: Change): Promise<Submission> {
  const accepted = (id: string, { made }: Made) => keep(run, change, { id, accepted: true, made })
  for (let sends = 0; ; sends += 1) {
    const before = run.state.submissions?.[change.name]
    if (before?.accepted === true) return before
    if (before !== undefined) {
      const found = (await find(run, change, before.id)) ?? (await findLater(run, change, before.id))
      if (found !== undefined) return accepted(before.id, found)
      if (!change.repeatable || sends === SENDS) throw outcomeUnknown(change)
    }
    const id = before?.id ?? change.id ?? randomUUID()
    if (before === undefined) await keep(run, change, { id, accepted: false, made: null })
    let made: string | null = null
    const failure = await failureOf(async () => {
      made = await change.submit(id)
    })
    if (failure === undefined) return accepted(id, { made })
    if (isLostAnswer(failure)) {
      run.log.warn({ err: failure, submission: change.name }, 'answer lost')
      await run.note('WARN', `The answer of the ${change.system} was lost; looking for what became of it.`)
      continue
    }
    // An earlier one, whose answer was lost, may have arrived late: then this one is refused because it is done.
    const found = before === undefined ? undefined : await find(run, change, id)
    if (found !== undefined) return accepted(id, found)
    await keep(run, change, undefined)
    throw failure
  }
}

/** Follows to the end. Where there is no outcome, what is to be seen tells whether it was done. */
export async function followSubmission(run: SubmitRun, change: FollowedChange): Promise<void> {
  const submission = submissionOf(run, change)
  const end = change.follow === undefined ? submission : await change.follow(submission)
  if (end !== undefined) {
    if (end.made !== null && end.made !== submission.made) await keep(run, change, { ...submission, made: end.made })
    return
  }
  await run.note('WARN', `The ${change.system} ended it without an outcome; looking at what is to be seen.`)
  const seen = await change.verify?.(submission)
  if (seen === null) return
  const shown = seen === undefined ? '' : ` It shows that ${seen}.`
  throw new ApiError(
    'JOB_INTERRUPTED',
    `The ${change.system} ended the operation without an outcome.${shown} Look at the resource before you repeat it.`,
  )
}

/** Throws CHANGE_NOT_SEEN unless what was followed to its end is to be seen. */
export async function verifySubmission(run: SubmitRun, change: FollowedChange): Promise<void> {
  const seen = (await change.verify?.(submissionOf(run, change))) ?? null
  if (seen !== null) throw new ApiError('CHANGE_NOT_SEEN', `The ${change.system} reports success, but ${seen}.`)
}

/** What was submitted under the name of the change. */
export function submissionOf(run: Pick<SubmitRun, 'state'>, { name }: Pick<Change, 'name'>): Submission {
  const submission = run.state.submissions?.[name]
  if (submission === undefined) throw new Error(`nothing was submitted as ${name}`)
  return submission
}

/** What the other system says against it; everything else (a lost job, an abort) passes. */
async function failureOf(work: () => Promise<void>): Promise<ApiError | UpstreamError | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (error instanceof ApiError || error instanceof UpstreamError) return error
    throw error
  }
}

function find(run: SubmitRun, change: Change, id: string): ReturnType<Change['find']> {
  return untilAnswered(run.signal, () => change.find(id), { even_refused: true, for_ms: ANSWER_WITHIN_MS })
}

async function findLater(run: SubmitRun, change: Change, id: string): ReturnType<Change['find']> {
  // It may still have been on its way when its connection broke.
  await run.settled()
  return find(run, change, id)
}

/** Undefined: forgets it. */
async function keep<S extends Submission | undefined>(run: SubmitRun, { name }: Change, submission: S): Promise<S> {
  const { [name]: _before, ...others } = run.state.submissions ?? {}
  await run.save({ submissions: submission === undefined ? others : { ...others, [name]: submission } })
  return submission
}

function outcomeUnknown({ system }: Change): ApiError {
  return new ApiError(
    'JOB_INTERRUPTED',
    `The answer of the ${system} was lost, and nothing of the change is to be seen there; look for the resource before you repeat the request.`,
  )
}
