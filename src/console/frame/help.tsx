// The keys, and where the reference is.
import { Dialog } from '../form/dialog.tsx'
import { KEYS } from './keys.ts'

export function HelpDialog({ close }: { close(): void }) {
  return (
    <Dialog title="Keys" close={close}>
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
      <p>
        <a href="/docs" target="_blank" rel="noreferrer">
          API reference
        </a>
      </p>
    </Dialog>
  )
}
