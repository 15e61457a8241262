// Says five minutes before that the session ends, so that nobody is surprised in the middle of a form.
import { useEffect, useState } from 'react'
import { sessionEnded, useMe } from './session.ts'

const BEFORE_MS = 5 * 60_000
/** The longest that a timer of the browser takes. */
const LONGEST_MS = 2 ** 31 - 1

export function ExpiryNotice() {
  const { expires_at } = useMe()
  const [due, setDue] = useState(false)
  useEffect(() => {
    setDue(false)
    if (expires_at === null) return
    const left_ms = Date.parse(expires_at) - BEFORE_MS - Date.now()
    if (left_ms > LONGEST_MS) return
    const timer = setTimeout(() => setDue(true), Math.max(left_ms, 0))
    return () => clearTimeout(timer)
  }, [expires_at])
  if (!due || expires_at === null) return null
  const at = new Date(expires_at).toLocaleTimeString('en-GB')
  return (
    <button type="button" className="notice" onClick={() => sessionEnded(`Your session ends at ${at}.`)}>
      Session ends at {at}: sign in again
    </button>
  )
}
