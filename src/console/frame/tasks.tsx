// What was done since this page was opened, newest first: how each ended, and what takes it back.
import { Link } from 'wouter'
import { Dialog } from '../form/dialog.tsx'
import { State, Time } from '../lists/value.tsx'
import { useActivity } from '../stream/activity.ts'
import { Undo } from './undo.tsx'

export function TasksDialog({ close }: { close(): void }) {
  const operations = useActivity()
  return (
    <Dialog title="Tasks" className="wide" close={close}>
      {operations.length === 0 && <p>Nothing was done since this page was opened.</p>}
      <ul className="findings">
        {operations.map((operation) => (
          <li key={operation.correlation_id}>
            <Time at={operation.created_at} /> <State text={operation.status} />{' '}
            <Link href={`/timeline/${operation.correlation_id}`} onClick={close}>
              {operation.description}
            </Link>{' '}
            {operation.username}
            {operation.status === 'IN_PROGRESS' && operation.progress > 0 && `, ${operation.progress} %`}{' '}
            <span className="error">{operation.error_message}</span> <Undo operation={operation} />
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
