// A change of one thing or of many: first the plan, each with what will happen or why it cannot; then what became of each.
import { type FormEvent, useEffect, useState } from 'react'
import { callAny } from '../api/call.ts'
import { objectFields, operationDetails, operationRow } from '../api/contract.ts'
import type { OperationDetails } from '../api/contract-types.ts'
import { type Thing, whyNot } from '../api/why-not.ts'
import { useMe } from '../session/session.ts'
import { Dialog } from './dialog.tsx'
import { Fields } from './fields.tsx'
import { Problem } from './problem.tsx'
import { Prose } from './prose.tsx'
import { type Texts, valuesOf } from './values.ts'

export interface Target extends Thing {
  id: string
  name: string
}

export interface Action {
  operation: string
  label: string
  /** `at once`: harmless. `interrupts`: asks once. `destroys`: wants the name typed. */
  weight: 'at once' | 'interrupts' | 'destroys'
  /** What becomes of the thing, as the plan says it. */
  effect: string
}

type Outcome = { status: 'running' } | { status: 'accepted' } | { status: 'failed'; error: unknown }

/** How many calls are under way at once. */
const PARALLEL = 6

interface Props {
  action: Action
  targets: readonly Target[]
  close(): void
}

export function ActionDialog({ action, targets, close }: Props) {
  const me = useMe()
  const [details, setDetails] = useState<OperationDetails>()
  const [texts, setTexts] = useState<Texts>({})
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const { outcomes, run } = useOutcomes(action, targets)
  useEffect(() => {
    operationDetails(action.operation).then(setDetails, setProblem)
  }, [action.operation])

  const planned = targets.map((target) => ({ target, why: whyNot(me, action.operation, target) }))
  const possible = planned.filter(({ why }) => why === null).map(({ target }) => target)
  const one = targets.length === 1 ? targets[0] : undefined
  const asked = one?.name ?? String(possible.length)
  const confirmed = action.weight !== 'destroys' || typed.trim() === asked
  const id_name = idName(action)
  const { [id_name]: _id, ...fields } = objectFields(details?.body) ?? {}
  const waits = outcomes.size === 0 && possible.length > 0
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (!confirmed || !waits) return
    setProblem(undefined)
    try {
      const failed = await run(possible, valuesOf(fields, texts))
      if (failed === 0 && one !== undefined) close()
    } catch (error) {
      setProblem(error)
    }
  }
  return (
    <Dialog title={`${action.label} ${one?.name ?? `${targets.length} machines`}`} close={close}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        {details?.description && (
          <p className="help">
            <Prose text={details.description} />
          </p>
        )}
        <Plan action={action} planned={planned} outcomes={outcomes} />
        {Object.keys(fields).length > 0 && waits && (
          <Fields
            fields={fields}
            required={(details?.body?.required ?? []).filter((name) => name !== id_name)}
            texts={texts}
            change={(name, text) => setTexts((before) => ({ ...before, [name]: text }))}
            errors={[]}
          />
        )}
        {problem !== undefined && <Problem error={problem} />}
        {action.weight === 'destroys' && waits && (
          <label>
            {one === undefined ? 'Type the number of machines' : 'Type the name'} <strong>{asked}</strong> to confirm
            <input value={typed} autoComplete="off" onChange={({ target }) => setTyped(target.value)} />
          </label>
        )}
        <Buttons {...{ action, waits, confirmed, close }} count={one === undefined ? possible.length : undefined} />
        <Summary outcomes={outcomes} />
      </form>
    </Dialog>
  )
}

interface ButtonsProps extends Pick<Props, 'action' | 'close'> {
  waits: boolean
  confirmed: boolean
  count: number | undefined
}

function Buttons({ action, waits, confirmed, count, close }: ButtonsProps) {
  return (
    <div className="buttons">
      {waits && (
        <button
          type="submit"
          className={action.weight === 'destroys' ? 'danger' : 'primary'}
          aria-disabled={!confirmed}
        >
          {action.label} {count}
        </button>
      )}
      <button type="button" onClick={close}>
        {waits ? 'Cancel' : 'Close'}
      </button>
    </div>
  )
}

function idName({ operation }: Action): string {
  return operationRow(operation).ids[0] ?? ''
}

function useOutcomes(action: Action, targets: readonly Target[]) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map())
  // One of each for the life of the dialog: a second click is the same change.
  const [keys] = useState(() => new Map(targets.map(({ id }) => [id, crypto.randomUUID()])))
  const set = (id: string, outcome: Outcome): void => setOutcomes((before) => new Map(before).set(id, outcome))
  /** Answers how many failed. */
  const run = (possible: readonly Target[], options: Record<string, unknown>): Promise<number> =>
    inParallel(possible, async ({ id }) => {
      set(id, { status: 'running' })
      try {
        const key = keys.get(id)
        await callAny(
          action.operation,
          { body: { ...options, [idName(action)]: id } },
          key === undefined ? {} : { key },
        )
        set(id, { status: 'accepted' })
        return true
      } catch (error) {
        set(id, { status: 'failed', error })
        return false
      }
    })
  return { outcomes, run }
}

function Summary({ outcomes }: { outcomes: ReadonlyMap<string, Outcome> }) {
  const all = [...outcomes.values()]
  const failed = all.filter(({ status }) => status === 'failed').length
  const ended = all.length > 0 && all.every(({ status }) => status !== 'running')
  return (
    <p role="status" className="help">
      {ended && `${all.length - failed} accepted, ${failed} failed.`}
    </p>
  )
}

interface PlanProps {
  action: Action
  planned: readonly { target: Target; why: string | null }[]
  outcomes: ReadonlyMap<string, Outcome>
}

function Plan({ action, planned, outcomes }: PlanProps) {
  return (
    <ul className="plan" tabIndex={0} aria-label="Plan">
      {planned.map(({ target, why }) => {
        const outcome = outcomes.get(target.id)
        return (
          <li key={target.id} data-can={why === null}>
            <strong>{target.name}</strong> {outcome === undefined ? (why ?? action.effect) : said(outcome)}
            {outcome?.status === 'failed' && <Problem error={outcome.error} />}
          </li>
        )
      })}
    </ul>
  )
}

function said({ status }: Outcome): string {
  if (status === 'running') return 'is being asked for …'
  return status === 'accepted' ? 'was accepted.' : 'failed:'
}

/** Answers how many failed. */
async function inParallel(targets: readonly Target[], work: (target: Target) => Promise<boolean>): Promise<number> {
  const waiting = [...targets]
  let failed = 0
  const worker = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      if (!(await work(target))) failed++
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  return failed
}
