// A change of one thing or of many: first the plan, each with what will happen or why it cannot; then what became of each.
import { type FormEvent, useEffect, useState } from 'react'
import { objectFields, operationDetails } from '../api/contract.ts'
import type { OperationDetails, Schema } from '../api/contract-types.ts'
import { whyNot } from '../api/why-not.ts'
import { useMe } from '../session/session.ts'
import { type Action, bodyOf, type Consequences, idName, type Target } from './action.ts'
import { Copy } from './copy.tsx'
import { Losses, Plan, Summary } from './action-plan.tsx'
import { Dialog } from './dialog.tsx'
import { Fields } from './fields.tsx'
import { useOutcomes } from './outcomes.ts'
import { Problem } from './problem.tsx'
import { Prose } from './prose.tsx'
import { type Texts, valuesOf } from './values.ts'

interface Props {
  action: Action
  targets: readonly Target[]
  close(): void
}

export function ActionDialog({ action, targets, close }: Props) {
  const me = useMe()
  const [details, setDetails] = useState<OperationDetails>()
  const [texts, setTexts] = useState<Texts>(action.texts ?? {})
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const { outcomes, run } = useOutcomes(action, targets)
  useEffect(() => {
    operationDetails(action.operation).then(setDetails, setProblem)
  }, [action.operation])
  const one = targets.length === 1 ? targets[0] : undefined
  const losses = useConsequences(action, one, setProblem)

  const planned = targets.map((target) => ({ target, why: whyNot(me, action.operation, target) }))
  const possible = planned.filter(({ why }) => why === null).map(({ target }) => target)
  const asked = one?.name ?? String(possible.length)
  const confirmed = (action.weight !== 'destroys' || typed.trim() === asked) && losses !== 'reading'
  const fields = askedFields(action, targets, details)
  const waits = outcomes.size === 0 && possible.length > 0
  const change = (name: string, text: string): void => setTexts((before) => ({ ...before, [name]: text }))
  const options = () => valuesOf(objectFields(details?.body) ?? {}, texts)
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    if (!confirmed || !waits || details === undefined) return
    setProblem(undefined)
    try {
      const failed = await run(possible, options())
      if (failed === 0 && one !== undefined) close()
    } catch (error) {
      setProblem(error)
    }
  }
  const named = Object.keys(fields).filter((name) => name !== optionalField(losses))
  return (
    <Dialog
      title={`${action.label} ${one?.name ?? `${targets.length} ${targets[0]?.kind ?? 'machine'}s`}`}
      close={close}
    >
      <form onSubmit={(event) => void submit(event)} noValidate>
        <Described text={details?.description} />
        <Plan action={action} planned={planned} outcomes={outcomes} />
        {waits && <Losses losses={losses} texts={texts} change={change} />}
        {named.length > 0 && waits && (
          <Fields
            fields={Object.fromEntries(named.map((name) => [name, fields[name] ?? {}]))}
            required={details?.body?.required ?? []}
            texts={texts}
            change={change}
            errors={[]}
          />
        )}
        {problem !== undefined && <Problem error={problem} />}
        {action.weight === 'destroys' && waits && (
          <Confirm
            what={one === undefined ? 'Type the number of things' : 'Type the name'}
            {...{ asked, typed }}
            type={setTyped}
          />
        )}
        <div className="buttons">
          {waits && (
            <button
              type="submit"
              className={action.weight === 'destroys' ? 'danger' : 'primary'}
              aria-disabled={!confirmed || details === undefined}
              {...(action.weight !== 'destroys' && { 'data-focus': true })}
            >
              {action.label} {one === undefined && possible.length}
            </button>
          )}
          <button type="button" onClick={close}>
            {waits ? 'Cancel' : 'Close'}
          </button>
        </div>
        <Summary outcomes={outcomes} />
        <Copy operation={action.operation} requests={() => copied(action, possible, options())} />
      </form>
    </Dialog>
  )
}

function Described({ text }: { text: string | undefined }) {
  return text === undefined || text === '' ? null : (
    <p className="help">
      <Prose text={text} />
    </p>
  )
}

interface ConfirmProps {
  what: string
  asked: string
  typed: string
  type(text: string): void
}

function Confirm({ what, asked, typed, type }: ConfirmProps) {
  return (
    <label>
      {what} <strong>{asked}</strong> to confirm
      <input value={typed} autoComplete="off" data-focus onChange={({ target }) => type(target.value)} />
    </label>
  )
}

function copied(action: Action, targets: readonly Target[], options: Record<string, unknown>) {
  const { operation } = action
  return targets.map((target) => ({ operation, input: { body: bodyOf(action, target, options) } }))
}

/** Without what names the thing, and what the page knows already. */
function askedFields(action: Action, targets: readonly Target[], details?: OperationDetails): Record<string, Schema> {
  const known = [idName(action), ...Object.keys(targets[0]?.fixed ?? {})]
  const asked = ([name]: [string, Schema]): boolean =>
    !known.includes(name) && (action.fields === undefined || action.fields.includes(name))
  return Object.fromEntries(Object.entries(objectFields(details?.body) ?? {}).filter(asked))
}

/** Nothing is asked for where the action takes nothing away, or from many: these are named in the plan. */
function useConsequences({ consequences }: Action, one: Target | undefined, failed: (error: unknown) => void) {
  const asks = consequences !== undefined && one !== undefined
  const [found, setFound] = useState<Consequences | 'reading' | undefined>(asks ? 'reading' : undefined)
  useEffect(() => {
    if (!asks) return
    consequences(one).then(setFound, (error: unknown) => {
      setFound(undefined)
      failed(error)
    })
    // What goes is what was there when the dialog opened, as the service checks it again.
  }, [])
  return found
}

function optionalField(losses: Consequences | 'reading' | undefined): string | undefined {
  return typeof losses === 'object' ? losses.optional?.field : undefined
}
