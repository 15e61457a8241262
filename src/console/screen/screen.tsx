// The screen of a virtual machine: what it draws, what is typed to it, and its last frame when it goes.
import RFB from '@novnc/novnc'
import { useEffect, useRef, useState } from 'react'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { whyNot } from '../api/why-not.ts'
import { Actions } from '../pages/actions.tsx'
import { MACHINE_ACTIONS, targetOf } from '../pages/machine-actions.ts'
import { useMe } from '../session/session.ts'
import { ScreenBar } from './screen-bar.tsx'

type Phase = 'connecting' | 'connected' | 'ended'

const POWER = ['vmStart', 'vmStop', 'vmReboot']

export function Screen({ machine }: { machine: VirtualMachine }) {
  const closed = whyNot(useMe(), 'vmConsoleCreate', targetOf(machine))
  const place = useRef<HTMLDivElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const [rfb, setRfb] = useState<RFB>()
  const [phase, setPhase] = useState<Phase>('connecting')
  const [still, setStill] = useState<string>()
  const [attempt, setAttempt] = useState(0)
  const [fits, setFits] = useState(true)
  const open = closed === null
  // A machine that comes back after a reboot, by whoever started it, is connected again without a word.
  useEffect(() => {
    if (!open || place.current === null) return
    setPhase('connecting')
    const next = new RFB(place.current, addressOf(machine.id), { wsProtocols: ['binary'] })
    next.addEventListener('connect', () => {
      setPhase('connected')
      setStill(undefined)
      next.focus()
    })
    next.addEventListener('disconnect', () => {
      setPhase('ended')
      setStill(next.toDataURL())
    })
    setRfb(next)
    return () => next.disconnect()
  }, [machine.id, open, attempt])
  useEffect(() => {
    if (rfb !== undefined) rfb.scaleViewport = fits
  }, [rfb, fits])
  useEffect(() => {
    const { current } = frame
    const leave = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey && event.altKey && event.shiftKey)) return
      event.stopPropagation()
      current?.querySelector<HTMLElement>('button')?.focus()
    }
    // Before the screen takes the key: nobody is caught in it.
    current?.addEventListener('keydown', leave, { capture: true })
    return () => current?.removeEventListener('keydown', leave, { capture: true })
  }, [])
  return (
    <div ref={frame} className="screen-frame">
      <ScreenBar
        rfb={phase === 'connected' ? rfb : undefined}
        fits={fits}
        setFits={setFits}
        again={phase === 'ended' && open ? () => setAttempt((before) => before + 1) : undefined}
        wide={() => void frame.current?.requestFullscreen()}
        window={() => void globalThis.open(`${location.pathname}?window=1`, `screen ${machine.id}`, 'popup')}
      />
      <p role="status" className="help">
        {closed ?? WORDS[phase]}
      </p>
      <div
        ref={place}
        className="screen"
        data-phase={phase}
        role="application"
        aria-label={`Screen of ${machine.name}`}
      />
      {still !== undefined && phase !== 'connected' && (
        <img className="still" src={still} alt="The last frame of the screen" />
      )}
      <Actions
        actions={MACHINE_ACTIONS.filter(({ operation }) => POWER.includes(operation))}
        target={targetOf(machine)}
      />
    </div>
  )
}

const WORDS: Readonly<Record<Phase, string>> = {
  connecting: 'Connecting …',
  connected: 'Connected. Keys go to the machine; Ctrl Alt Shift leaves it.',
  ended: 'The screen is gone. It comes back when the machine does.',
}

function addressOf(id: string): string {
  return `${location.origin.replace(/^http/, 'ws')}/compute/vms/${encodeURIComponent(id)}/screen`
}
