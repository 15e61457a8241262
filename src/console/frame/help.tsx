// The keys, and where the reference is.
import { Dialog } from '../form/dialog.tsx'
import { KeyList } from './key-list.tsx'

export function HelpDialog({ close }: { close(): void }) {
  return (
    <Dialog title="Keys" close={close}>
      <KeyList />
      <p>
        <a href="/docs" target="_blank" rel="noreferrer">
          API reference
        </a>
      </p>
    </Dialog>
  )
}
