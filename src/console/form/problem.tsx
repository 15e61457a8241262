// One way to show every failure: what, by which code, and the id under which it is logged.
import { CallError } from '../api/call.ts'

export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof CallError ? error : undefined
  return (
    <div className="problem" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {known !== undefined && known.fields.length > 0 && (
        <ul>
          {known.fields.map(({ path, message }) => (
            <li key={path}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {known !== undefined && known.status > 0 && (
        <p className="help">
          <a href={`/console/help/errors#${known.code}`} target="_blank" rel="noreferrer">
            {known.code}
          </a>
          {known.request_id !== null && (
            <>
              , request <code>{known.request_id}</code>
            </>
          )}
        </p>
      )}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}
