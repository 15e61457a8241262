// One way to show every failure: what, by which code, and the id under which it is logged.
import { CallError } from '../api/call.ts'

/** Where it can be put right, by code. */
const WAY_OUT: Readonly<Record<string, { href: string; title: string }>> = {
  CAM_NOT_INITIALIZED: { href: '/console/cameras/nvr', title: 'Set up the NVR' },
  CAPACITY_EXCEEDED: { href: '/console/platform/capacity', title: 'See the room that is left' },
  QUOTA_EXCEEDED: { href: '/console/tenants', title: 'See the limits of the tenants' },
}

export function Problem({ error, retry }: { error: unknown; retry?: () => void }) {
  const known = error instanceof CallError ? error : undefined
  const way_out = WAY_OUT[known?.code ?? '']
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
      {way_out !== undefined && (
        <p>
          <a href={way_out.href}>{way_out.title}</a>
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
