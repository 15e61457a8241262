// The keys, and where the reference is.
import { Dialog } from '../form/dialog.tsx'
import { GO_TO, OTHER_KEYS } from './keys.ts'

export function HelpDialog({ close }: { close(): void }) {
  const going = Object.entries(GO_TO).map(([key, { title }]) => [`g ${key}`, title] as const)
  return (
    <Dialog title="Keys" close={close}>
      <dl className="facts">
        {[...OTHER_KEYS, ...going].map(([keys, what]) => (
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
