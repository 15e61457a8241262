// The keys and what each does.
import { KEYS } from './keys.ts'

export function KeyList() {
  return (
    <dl className="facts">
      {KEYS.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  )
}
