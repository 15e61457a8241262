// How this tab is doing, to be looked at and taken along into a report.
import { useState } from 'react'
import { healthNow } from '../health.ts'
import { Facts } from './panel.tsx'

export function ConsoleHealth() {
  const [health, setHealth] = useState(healthNow)
  const report = JSON.stringify({ ...health, agent: navigator.userAgent }, null, 2)
  return (
    <>
      <h1>Health of this tab</h1>
      <p className="help">Counted here since the page was loaded, and sent nowhere. It holds no contents and no ids.</p>
      <Facts thing={health} />
      <div className="actions">
        <button type="button" onClick={() => setHealth(healthNow())}>
          Count again
        </button>
        <button type="button" onClick={() => void navigator.clipboard?.writeText(report)}>
          Copy report
        </button>
      </div>
      <details>
        <summary>What is copied</summary>
        <pre tabIndex={0} role="region" aria-label="Report">
          {report}
        </pre>
      </details>
    </>
  )
}
