// Says whether what is shown follows the service, and since when not; after a return, whether the service is another version.
import { useEffect, useState } from 'react'
import { metaContent } from '../api/contract.ts'
import { useStream } from '../stream/client.ts'

const WORDS = { starting: 'connecting', live: 'live', lost: 'lost', ended: 'ended' }

export function Lamp() {
  const { state, since } = useStream()
  const [newer, setNewer] = useState(false)
  useEffect(() => {
    if (state !== 'live') return
    isNewer().then(setNewer, () => {})
  }, [state])
  return (
    <>
      <span className="lamp" role="status" data-state={state}>
        {WORDS[state]}
        {state === 'lost' && ` since ${new Date(since).toLocaleTimeString('en-GB')}`}
      </span>
      {newer && (
        <button type="button" className="notice" onClick={() => location.reload()}>
          New version: reload
        </button>
      )}
    </>
  )
}

async function isNewer(): Promise<boolean> {
  const response = await fetch('/console')
  if (!response.ok) return false
  const page = await response.text()
  const script = document.querySelector('script[src]')?.getAttribute('src') ?? ''
  return !page.includes(script) || !page.includes(metaContent('console-contract'))
}
