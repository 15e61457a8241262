// The filter above a list. The address holds it, so that going back, or sending the address, gives the same view.
import { useEffect, useState } from 'react'
import { inPlainCase } from '../lists/value.tsx'

export interface FilterField {
  name: string
  label: string
  options?: readonly string[] | undefined
}

interface Props {
  filter: Readonly<Record<string, string>>
  set(name: string, value: string): void
  fields: readonly FilterField[]
}

export function FilterBar({ filter, set, fields }: Props) {
  return (
    <search className="filter">
      {fields.map(({ name, label, options }) =>
        options === undefined ? (
          <FilterText key={name} label={label} value={filter[name] ?? ''} set={(value) => set(name, value)} />
        ) : (
          <label key={name}>
            {label}
            <select value={filter[name] ?? ''} onChange={({ target }) => set(name, target.value)}>
              <option value="">any</option>
              {options.map((option) => (
                <option key={option} value={option}>
                  {inPlainCase(option)}
                </option>
              ))}
            </select>
          </label>
        ),
      )}
    </search>
  )
}

const REST_MS = 250

/** Asks once somebody stops typing. */
function FilterText({ label, value, set }: { label: string; value: string; set(value: string): void }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => set(text), REST_MS)
    return () => clearTimeout(timer)
  })
  return (
    <label>
      {label}
      <input
        type="search"
        value={text}
        autoComplete="off"
        onChange={({ target }) => setText(target.value)}
        onKeyDown={({ key }) => {
          if (key === 'ArrowDown') document.querySelector<HTMLElement>('main [role="grid"]')?.focus()
        }}
      />
    </label>
  )
}
