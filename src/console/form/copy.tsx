// The same requests for a shell or a program, to be taken away.
import { useState } from 'react'
import { useDetails } from '../api/details.ts'
import type { OperationDetails } from '../api/contract-types.ts'
import { COPIES, type CopiedRequest } from './copy-as.ts'

type Kind = keyof typeof COPIES
const KINDS = Object.keys(COPIES) as Kind[]

interface Props {
  /** Of one operation. Throws for what cannot be read yet, such as JSON that somebody still types. */
  requests(): readonly CopiedRequest[]
  operation: string
}

export function Copy({ requests, operation }: Props) {
  const { details } = useDetails(operation)
  const [kind, setKind] = useState<Kind>('CLI')
  const [open, setOpen] = useState(false)
  if (details === undefined) return null
  const text = open ? textOf(requests, kind, details) : ''
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The same as a command</summary>
      <div className="actions" role="group" aria-label="Written for">
        {KINDS.map((one) => (
          <button key={one} type="button" aria-pressed={one === kind} onClick={() => setKind(one)}>
            {one}
          </button>
        ))}
        <button type="button" onClick={() => void navigator.clipboard?.writeText(text)}>
          Copy
        </button>
      </div>
      <pre tabIndex={0} role="region" aria-label="Command">
        {text}
      </pre>
    </details>
  )
}

function textOf(requests: Props['requests'], kind: Kind, details: OperationDetails): string {
  try {
    const texts = requests().map((request) => COPIES[kind](request, details))
    // Programs declare names: each stands in a block of its own.
    return kind === 'TypeScript' && texts.length > 1 ? texts.map((one) => `{\n${one}\n}`).join('\n') : texts.join('\n')
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}
