// The line at the foot of every page: what runs, and the newest failure.
import { Link } from 'wouter'
import { useActivity } from '../stream/activity.ts'
import { Undo } from './undo.tsx'

const OPEN_AT_MOST = 3

export function Strip({ tasks }: { tasks(): void }) {
  const operations = useActivity()
  const running = operations.filter(({ status }) => status === 'IN_PROGRESS')
  const failed = operations.find(({ status }) => status === 'FAILED')
  const newest = operations.find(({ status }) => status === 'SUCCESS')
  return (
    <footer className="strip" aria-label="What runs">
      <button type="button" className="link" onClick={tasks}>
        Tasks
      </button>
      <span role="status">
        {running.length === 0 ? 'Nothing runs.' : `${running.length} running: `}
        {running.slice(0, OPEN_AT_MOST).map((operation) => (
          <Link key={operation.correlation_id} href={`/timeline/${operation.correlation_id}`}>
            {operation.description}
            {operation.progress > 0 && ` ${operation.progress} %`}
          </Link>
        ))}
      </span>
      {running.length === 0 && newest !== undefined && (
        <span className="done">
          <Link href={`/timeline/${newest.correlation_id}`}>Done: {newest.description}</Link>
          <Undo operation={newest} />
        </span>
      )}
      {failed !== undefined && (
        <Link href={`/timeline/${failed.correlation_id}`} className="failed">
          Failed: {failed.description}. {failed.error_message}
        </Link>
      )}
    </footer>
  )
}
