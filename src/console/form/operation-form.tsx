// The form of an operation: its fields out of the contract, what it answers, and the same call for a shell.
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { type AnyInput, callAny, CallError } from '../api/call.ts'
import { objectFields } from '../api/contract.ts'
import type { OperationDetails, OperationRow, Schema } from '../api/contract-types.ts'
import { whyNot } from '../api/why-not.ts'
import { useMe } from '../session/session.ts'
import { Copy } from './copy.tsx'
import { useDraft, withoutSecrets } from './draft.ts'
import { Fields } from './fields.tsx'
import { Problem } from './problem.tsx'
import { type Texts, textsOf, valuesOf } from './values.ts'

export interface ThingOperation {
  operation: string
  /** Otherwise the summary of the operation. */
  label?: string
  /** Fields that the thing decides: they are sent, and not asked for. */
  given?: Texts
  /** Fields that are filled in, and may be changed. */
  filled?: Texts
  /** Management address of the node that answers. */
  node?: string
  /** What must be typed before it is sent, because something is lost. */
  confirm?: string | undefined
  /** Why it makes no sense as the thing is now. */
  why?: string | null
}

const PARTS = ['params', 'query', 'body'] as const
type Part = (typeof PARTS)[number]
type Parts = Record<Part, Texts>
type Outcome = { answer: unknown } | { error: unknown }

interface FormProps {
  operation: string
  row: OperationRow
  details: OperationDetails
}

interface OperationFormProps extends FormProps {
  /** Of a thing, in a dialog: what it decides is not asked for. */
  within?: ThingOperation
  close?: () => void
}

export function OperationForm({ operation, row, details, within, close }: OperationFormProps) {
  const why = whyNot(useMe(), operation)
  const [search] = useSearchParams()
  const { parts, setParts, key, done } = useTyped(details, within)
  const [node, setNode] = useState(within?.node ?? '')
  const [typed, setTyped] = useState('')
  const confirmed = within?.confirm === undefined || typed.trim() === within.confirm
  const hidden = Object.keys(within?.given ?? {})
  const [busy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    if (why !== null || busy || !confirmed) return
    setBusy(true)
    const next = await run(operation, details, parts, row.on_node ? { key, node } : { key })
    setBusy(false)
    setOutcome(next)
    if ('answer' in next) done()
  }
  const errors =
    outcome !== undefined && 'error' in outcome && outcome.error instanceof CallError ? outcome.error.fields : []
  useEffect(() => {
    if (outcome !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [outcome])
  // An address that says which thing is meant shows it: reading changes nothing.
  useEffect(() => {
    if (
      within === undefined &&
      row.effect === 'read' &&
      row.ids.length > 0 &&
      row.ids.every((name) => search.has(name))
    )
      form.current?.requestSubmit()
  }, [])
  const copied = () => [
    { operation, input: inputOf(details, parts), node: row.on_node ? node || undefined : undefined },
  ]
  return (
    <form ref={form} className="operation" onSubmit={(event) => void submit(event)} noValidate>
      {why !== null && <p role="status">{why}</p>}
      {row.on_node && within?.node === undefined && (
        <label>
          Node that answers, by its management address
          <input value={node} onChange={({ target }) => setNode(target.value)} />
        </label>
      )}
      {PARTS.map((part) => (
        <PartFields
          key={part}
          part={part}
          schema={details[part]}
          hidden={hidden}
          texts={parts[part]}
          errors={errors.filter(({ path }) => path.startsWith(`${part}.`))}
          change={(name, text) => setParts((before) => ({ ...before, [part]: { ...before[part], [name]: text } }))}
        />
      ))}
      <Confirm name={within?.confirm} typed={typed} type={setTyped} />
      <div className="buttons">
        <button
          type="submit"
          className={within?.confirm === undefined ? 'primary' : 'danger'}
          aria-disabled={why !== null || busy || !confirmed}
        >
          {row.effect === 'read' ? 'Read' : (within?.label ?? row.summary)}
        </button>
        <OtherButton close={close} example={() => setParts(partsFromExample(details))} outcome={outcome} />
      </div>
      {outcome !== undefined && <Shown outcome={outcome} />}
      <Copy operation={operation} requests={copied} />
    </form>
  )
}

/** What is typed, and the key of the change that it will be. Both outlive a reload, but not in the dialog of a thing. */
function useTyped(details: OperationDetails, within: ThingOperation | undefined) {
  const [search] = useSearchParams()
  const draft = useDraft<Parts>(useMe().username)
  const before = within === undefined ? draft.before : undefined
  const given = within === undefined ? Object.fromEntries(search) : (within.given ?? {})
  const [parts, setParts] = useState<Parts>(() => before?.typed ?? partsFrom(details, given, within?.filled))
  const [key, setKey] = useState(() => before?.key ?? crypto.randomUUID())
  const untouched = useRef(parts)
  useEffect(() => {
    if (within === undefined && parts !== untouched.current)
      draft.store({ typed: partsWithoutSecrets(details, parts), key })
  }, [parts, key])
  const done = (): void => {
    // The same form sent again after a success is another change.
    setKey(crypto.randomUUID())
    untouched.current = parts
    draft.drop()
  }
  return { parts, setParts, key, done }
}

interface ConfirmProps {
  name: string | undefined
  typed: string
  type(text: string): void
}

function Confirm({ name, typed, type }: ConfirmProps) {
  if (name === undefined) return null
  return (
    <label>
      Type <strong>{name}</strong> to confirm
      <input value={typed} autoComplete="off" onChange={({ target }) => type(target.value)} />
    </label>
  )
}

interface OtherButtonProps {
  close: (() => void) | undefined
  example(): void
  outcome: Outcome | undefined
}

function OtherButton({ close, example, outcome }: OtherButtonProps) {
  if (close === undefined) {
    return (
      <button type="button" onClick={example}>
        Fill in example
      </button>
    )
  }
  return (
    <button type="button" onClick={close}>
      {outcome !== undefined && 'answer' in outcome ? 'Done' : 'Cancel'}
    </button>
  )
}

interface PartProps {
  part: Part
  schema: Schema | null
  hidden: readonly string[]
  texts: Texts
  errors: readonly { path: string; message: string }[]
  change(name: string, text: string): void
}

/** What is no object with fields is written as JSON. */
function PartFields({ part, schema, hidden, texts, errors, change }: PartProps) {
  if (schema === null) return null
  const all = objectFields(schema) ?? { [WHOLE]: { description: `The whole ${part}, as JSON.` } }
  const fields = Object.fromEntries(Object.entries(all).filter(([name]) => !hidden.includes(name)))
  if (Object.keys(fields).length === 0) return null
  return (
    <fieldset>
      <legend>{part === 'params' ? 'Which one' : part === 'query' ? 'Filter' : 'What'}</legend>
      <Fields fields={fields} required={schema.required ?? []} texts={texts} errors={errors} change={change} />
    </fieldset>
  )
}

const WHOLE = 'json'

function inputOf(details: OperationDetails, parts: Parts): AnyInput {
  const values = (part: Part): Record<string, unknown> | undefined => {
    const schema = details[part]
    const fields = objectFields(schema)
    if (schema === null) return undefined
    if (fields !== null) return valuesOf(fields, parts[part])
    return valuesOf({ [WHOLE]: {} }, parts[part])[WHOLE] as Record<string, unknown> | undefined
  }
  return { params: values('params'), query: values('query'), body: values('body') }
}

async function run(
  operation: string,
  details: OperationDetails,
  parts: Parts,
  options: { key: string; node?: string },
): Promise<Outcome> {
  try {
    return { answer: await callAny(operation, inputOf(details, parts), options) }
  } catch (error) {
    return { error }
  }
}

/** Names that are given go to wherever the operation has a field of that name; `filled` only where one is required. */
function partsFrom(details: OperationDetails, given: Texts, filled: Texts = {}): Parts {
  const own = (part: Part): Texts => {
    const required = Object.entries(filled).filter(([name]) => details[part]?.required?.includes(name))
    const chosen = Object.entries(given).filter(([name]) => name in (objectFields(details[part]) ?? {}))
    return Object.fromEntries([...required, ...chosen])
  }
  return { params: own('params'), query: own('query'), body: own('body') }
}

function partsWithoutSecrets(details: OperationDetails, parts: Parts): Parts {
  const own = (part: Part): Texts => withoutSecrets(details[part], parts[part])
  return { params: own('params'), query: own('query'), body: own('body') }
}

function partsFromExample({ example, body }: OperationDetails): Parts {
  const whole = objectFields(body) === null && example.body !== undefined
  return {
    params: textsOf(example.params),
    query: textsOf(example.query),
    body: whole ? { [WHOLE]: JSON.stringify(example.body, null, 2) } : textsOf(example.body as Record<string, unknown>),
  }
}

function Shown({ outcome }: { outcome: Outcome }) {
  if ('error' in outcome) return <Problem error={outcome.error} />
  const { answer } = outcome
  const { job_id, message } = (answer ?? {}) as { job_id?: unknown; message?: unknown }
  return (
    <section aria-label="Answer">
      <h2>Answer</h2>
      {typeof message === 'string' && <p role="status">{message}</p>}
      {typeof job_id === 'string' && <Link href={`/jobs/${job_id}`}>Follow its job</Link>}
      <pre tabIndex={0} role="region" aria-label="Answer as JSON">
        {JSON.stringify(answer, null, 2)}
      </pre>
    </section>
  )
}
