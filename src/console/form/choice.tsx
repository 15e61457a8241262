// A choice of things by name, with what the service said of it beside it.
import { useId } from 'react'

export interface Option {
  id: string
  name: string
}

interface Props {
  name: string
  label: string
  required: boolean
  options: readonly Option[]
  value: string
  change(value: string): void
  error: string | undefined
}

export function Choice({ name, label, required, options, value, change, error }: Props) {
  const id = useId()
  // What was chosen before its list is there, or is not in it, stays chosen.
  const missing = value !== '' && !options.some((option) => option.id === value)
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {required && <span className="needed"> (required)</span>}
      </label>
      <select
        id={id}
        name={name}
        required={required}
        value={value}
        aria-invalid={error !== undefined}
        {...(error !== undefined && { 'aria-describedby': `${id}-error` })}
        onChange={({ target }) => change(target.value)}
      >
        <option value="">{required ? 'choose …' : 'none'}</option>
        {missing && <option value={value}>{value.slice(0, 8)}</option>}
        {options.map((option) => (
          <option key={option.id} value={option.id}>
            {option.name}
          </option>
        ))}
      </select>
      {error !== undefined && (
        <p className="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}
