// Any operation of the contract: its form, what it answers, and the same call for a shell. Nothing here is written for one of them.
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { addressOf, type AnyInput, callAny, CallError } from '../api/call.ts'
import { objectFields, operations } from '../api/contract.ts'
import type { OperationDetails, OperationRow, Schema } from '../api/contract-types.ts'
import { whyNot } from '../api/why-not.ts'
import { Fields } from '../form/fields.tsx'
import { Problem } from '../form/problem.tsx'
import { Prose } from '../form/prose.tsx'
import { type Texts, textsOf, valuesOf } from '../form/values.ts'
import { useMe } from '../session/session.ts'
import { AreaLinks } from './area-links.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useDetails } from './lists.tsx'
import { useFilter } from './panel.tsx'

export function OperationsPage() {
  const me = useMe()
  const [filter, setFilter] = useFilter()
  const text = (filter.text ?? '').toLowerCase()
  const found = Object.entries(operations).filter(([name, { summary, area }]) =>
    `${name} ${summary} ${area}`.toLowerCase().includes(text),
  )
  return (
    <>
      <h1>Operations</h1>
      <FilterBar filter={filter} set={setFilter} fields={[{ name: 'text', label: 'Text' }]} />
      <p role="status" className="help">
        {found.length} operations
      </p>
      <AreaLinks found={found} path="/operations" beside={(name) => <span className="help">{whyNot(me, name)}</span>} />
    </>
  )
}

export function OperationPage({ operation }: { operation: string }) {
  const { details, error } = useDetails(operation)
  const row = operations[operation]
  if (row === undefined) return <h1>There is no operation {operation}</h1>
  return (
    <>
      <h1>{row.summary}</h1>
      <p className="help">
        <code>
          {row.method} {row.path}
        </code>{' '}
        {operation}, for {row.access}
        {row.tenant === 'own' && ', also within a tenant'}
      </p>
      {details?.description && (
        <p>
          <Prose text={details.description} />
        </p>
      )}
      {error !== undefined && <Problem error={error} />}
      {details !== undefined && <OperationForm key={operation} {...{ operation, row, details }} />}
    </>
  )
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

function OperationForm({ operation, row, details }: FormProps) {
  const why = whyNot(useMe(), operation)
  const [given] = useSearchParams()
  const [parts, setParts] = useState<Parts>(() => partsFrom(details, Object.fromEntries(given)))
  const [node, setNode] = useState('')
  const [key, setKey] = useState(() => crypto.randomUUID())
  const [busy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const form = useRef<HTMLFormElement>(null)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    if (why !== null || busy) return
    setBusy(true)
    const next = await run(operation, details, parts, row.on_node ? { key, node } : { key })
    setBusy(false)
    setOutcome(next)
    // The same form sent again after a success is another change.
    if ('answer' in next) setKey(crypto.randomUUID())
  }
  const errors =
    outcome !== undefined && 'error' in outcome && outcome.error instanceof CallError ? outcome.error.fields : []
  useEffect(() => {
    if (outcome !== undefined) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [outcome])
  return (
    <form ref={form} className="operation" onSubmit={(event) => void submit(event)} noValidate>
      {why !== null && <p role="status">{why}</p>}
      {row.on_node && (
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
          texts={parts[part]}
          errors={errors.filter(({ path }) => path.startsWith(`${part}.`))}
          change={(name, text) => setParts((before) => ({ ...before, [part]: { ...before[part], [name]: text } }))}
        />
      ))}
      <div className="buttons">
        <button type="submit" className="primary" aria-disabled={why !== null || busy}>
          {row.effect === 'read' ? 'Read' : row.summary}
        </button>
        <button type="button" onClick={() => setParts(partsFromExample(details))}>
          Fill in example
        </button>
      </div>
      {outcome !== undefined && <Shown outcome={outcome} />}
      <Copy operation={operation} row={row} details={details} parts={parts} node={node} />
    </form>
  )
}

interface PartProps {
  part: Part
  schema: Schema | null
  texts: Texts
  errors: readonly { path: string; message: string }[]
  change(name: string, text: string): void
}

/** What is no object with fields is written as JSON. */
function PartFields({ part, schema, texts, errors, change }: PartProps) {
  if (schema === null) return null
  const fields = objectFields(schema) ?? { [WHOLE]: { description: `The whole ${part}, as JSON.` } }
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

/** Names of the address go to wherever the operation has a field of that name. */
function partsFrom(details: OperationDetails, given: Texts): Parts {
  const own = (part: Part): Texts =>
    Object.fromEntries(Object.entries(given).filter(([name]) => name in (objectFields(details[part]) ?? {})))
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
  const job_id = typeof answer === 'object' && answer !== null && 'job_id' in answer ? String(answer.job_id) : undefined
  return (
    <section aria-label="Answer">
      <h2>Answer</h2>
      {job_id !== undefined && <Link href={`/jobs/${job_id}`}>Follow its job</Link>}
      <pre tabIndex={0} role="region" aria-label="Answer as JSON">
        {JSON.stringify(answer, null, 2)}
      </pre>
    </section>
  )
}

interface CopyProps extends FormProps {
  parts: Parts
  node: string
}

/** The same request for a shell, with the token left to its variable. */
function Copy({ operation, row, details, parts, node }: CopyProps) {
  let text: string
  try {
    const input = inputOf(details, parts)
    const quote = (one: string): string => `'${one.replaceAll("'", "'\\''")}'`
    text = [
      `curl -sS -X ${row.method} ${quote(location.origin + addressOf(operation, input))}`,
      `-H "Authorization: Bearer $GROUNDPLANE_TOKEN"`,
      ...(row.on_node && node !== '' ? [`-H ${quote(`X-Target-Node: ${node}`)}`] : []),
      ...(input.body === undefined
        ? []
        : [`-H 'Content-Type: application/json'`, `-d ${quote(JSON.stringify(withoutSecrets(details, input.body)))}`]),
    ].join(' \\\n  ')
  } catch (error) {
    text = error instanceof Error ? error.message : ''
  }
  return (
    <details>
      <summary>The same as curl</summary>
      <pre tabIndex={0} role="region" aria-label="Command">
        {text}
      </pre>
    </details>
  )
}

function withoutSecrets(details: OperationDetails, body: unknown): unknown {
  const fields = objectFields(details.body)
  if (fields === null || typeof body !== 'object' || body === null) return body
  const entries = Object.entries(body).map(([name, value]) => [name, fields[name]?.['x-secret'] ? '…' : value])
  return Object.fromEntries(entries)
}
