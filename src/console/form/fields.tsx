// Form fields out of a schema: label, help, limits and choices are those of the contract.
import { useId, useState } from 'react'
import { listed } from '../api/answers.ts'
import { callAny, type FieldError } from '../api/call.ts'
import { asHeading, operations } from '../api/contract.ts'
import type { Schema } from '../api/contract-types.ts'
import { Prose } from './prose.tsx'
import { fieldKind, plain, type Texts } from './values.ts'

interface FieldsProps {
  fields: Record<string, Schema>
  required: readonly string[]
  texts: Texts
  change(name: string, text: string): void
  errors: readonly FieldError[]
}

/** Required ones first, the rest folded away where there are many. */
export function Fields({ fields, required, texts, change, errors }: FieldsProps) {
  const names = Object.keys(fields)
  const first = names.filter((name) => required.includes(name) || (texts[name] ?? '') !== '')
  // Decided once: a field does not move while somebody types in it.
  const [touched] = useState<readonly string[]>(first)
  const rest = names.filter((name) => !touched.includes(name))
  const field = (name: string) => (
    <Field
      key={name}
      name={name}
      schema={fields[name] ?? {}}
      required={required.includes(name)}
      text={texts[name] ?? ''}
      change={(text) => change(name, text)}
      error={errors.find(({ path }) => path.split('.').includes(name))?.message}
    />
  )
  const open = names.length <= 4 || rest.some((name) => errors.some(({ path }) => path.split('.').includes(name)))
  return (
    <>
      {names.filter((name) => touched.includes(name)).map(field)}
      {rest.length > 0 && (
        <details open={open || touched.length === 0}>
          <summary>
            {rest.length} optional {rest.length === 1 ? 'field' : 'fields'}
          </summary>
          {rest.map(field)}
        </details>
      )}
    </>
  )
}

interface FieldProps {
  name: string
  schema: Schema
  required: boolean
  text: string
  change(text: string): void
  error: string | undefined
}

function Field({ name, schema: given, required, text, change, error }: FieldProps) {
  const schema = plain(given)
  const id = useId()
  const described = [schema.description && `${id}-help`, error && `${id}-error`].filter(Boolean).join(' ')
  const shared = {
    id,
    name,
    required,
    value: text,
    'aria-invalid': error !== undefined,
    ...(described !== '' && { 'aria-describedby': described }),
    onChange: ({ target }: { target: { value: string } }) => change(target.value),
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        {asHeading(name)}
        {required && <span className="needed"> (required)</span>}
      </label>
      <Control shared={shared} name={name} schema={schema} />
      {schema.description && (
        <p className="help" id={`${id}-help`}>
          <Prose text={schema.description} />
        </p>
      )}
      {error !== undefined && (
        <p className="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}

interface ControlProps {
  shared: { id: string; required: boolean; value: string; onChange(event: { target: { value: string } }): void }
  name: string
  schema: Schema
}

function Control({ shared, name, schema }: ControlProps) {
  const kind = fieldKind(schema)
  const unset = schema.default === undefined ? 'not set' : `default: ${String(schema.default)}`
  switch (kind) {
    case 'choice':
    case 'flag': {
      const options = kind === 'flag' ? ['true', 'false'] : (schema.enum ?? []).filter((one) => one !== null)
      return (
        <select {...shared}>
          <option value="">{unset}</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {kind === 'flag' ? (option === 'true' ? 'yes' : 'no') : option}
            </option>
          ))}
        </select>
      )
    }
    case 'number':
      return (
        <input
          {...shared}
          type="number"
          step="any"
          placeholder={unset}
          {...(schema.minimum !== undefined && { min: schema.minimum })}
          {...(schema.maximum !== undefined && { max: schema.maximum })}
        />
      )
    case 'secret':
      return <input {...shared} type="password" autoComplete="new-password" />
    case 'long text':
    case 'lines':
    case 'json':
      return (
        <textarea {...shared} rows={3} placeholder={kind === 'lines' ? 'one a line' : kind === 'json' ? 'JSON' : ''} />
      )
    default:
      return name.endsWith('_id') ? <Pick shared={shared} name={name} /> : <input {...shared} type="text" />
  }
}

interface Choice {
  id: string
  name: string
}

/** An id is picked by name where the contract has a list of such things: `zone_id` out of `zones`. */
function Pick({ shared, name }: Pick<ControlProps, 'shared' | 'name'>) {
  const [choices, setChoices] = useState<readonly Choice[]>()
  const list = `${shared.id}-choices`
  const read = async (): Promise<void> => {
    if (choices === undefined) setChoices(await choicesFor(name).catch(() => []))
  }
  const chosen = choices?.find(({ id }) => id === shared.value)
  return (
    <>
      <input {...shared} type="text" list={list} autoComplete="off" onFocus={() => void read()} />
      <datalist id={list}>
        {choices?.map((choice) => (
          <option key={choice.id} value={choice.id} label={choice.name} />
        ))}
      </datalist>
      {chosen !== undefined && <p className="help">{chosen.name}</p>}
    </>
  )
}

const CHOICES = 100

async function choicesFor(name: string): Promise<Choice[]> {
  const plural = `${name.slice(0, -'_id'.length)}s`
  const [operation, row] = Object.entries(operations).find(([, { list }]) => list === plural) ?? []
  if (operation === undefined || row === undefined) return []
  const page = row.paged ? { page_size: CHOICES } : {}
  const answer = await callAny(operation, row.method === 'GET' ? { query: page } : { body: page })
  return (listed(operation, answer)?.rows ?? []) as unknown as Choice[]
}
