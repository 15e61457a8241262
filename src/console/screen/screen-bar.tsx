// What can be done to a screen beside typing: text at once, keys that the browser holds back, its size.
import type RFB from '@novnc/novnc'
import { type FormEvent, useState } from 'react'
import { Dialog } from '../form/dialog.tsx'

interface Props {
  /** While it is connected. */
  rfb: RFB | undefined
  fits: boolean
  setFits(fits: boolean): void
  again: (() => void) | undefined
  wide(): void
  /** Opens it in a window of its own. */
  window(): void
}

export function ScreenBar({ rfb, fits, setFits, again, wide, window }: Props) {
  const [open, setOpen] = useState<'paste' | 'keys' | null>(null)
  const close = (): void => setOpen(null)
  const not_yet = rfb === undefined && <small>The screen is not connected.</small>
  return (
    <div className="actions" role="group" aria-label="Screen">
      {again !== undefined && (
        <button type="button" className="primary" onClick={again}>
          Connect again
        </button>
      )}
      <button type="button" onClick={wide}>
        Full screen
      </button>
      {!new URLSearchParams(location.search).has('window') && (
        <button type="button" onClick={window}>
          Own window
        </button>
      )}
      <button type="button" aria-pressed={fits} onClick={() => setFits(!fits)}>
        Fit
      </button>
      <button type="button" aria-disabled={rfb === undefined} onClick={() => rfb !== undefined && setOpen('paste')}>
        Paste text
        {not_yet}
      </button>
      <button type="button" aria-disabled={rfb === undefined} onClick={() => rfb !== undefined && setOpen('keys')}>
        Keys
        {not_yet}
      </button>
      {open === 'paste' && rfb !== undefined && <PasteDialog rfb={rfb} close={close} />}
      {open === 'keys' && rfb !== undefined && <KeysDialog rfb={rfb} close={close} />}
    </div>
  )
}

const ENTER = 0xff0d
const TAB = 0xff09
/** Guests lose keys that come faster than a keyboard sends them. */
const KEY_PAUSE_MS = 8

function PasteDialog({ rfb, close }: { rfb: RFB; close(): void }) {
  const [text, setText] = useState('')
  const type = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    close()
    for (const character of text) {
      rfb.sendKey(keysymOf(character), null)
      await new Promise((resolve) => setTimeout(resolve, KEY_PAUSE_MS))
    }
    rfb.focus()
  }
  return (
    <Dialog title="Paste text" close={close}>
      <form onSubmit={(event) => void type(event)}>
        <label>
          Text, typed as keys of the layout that the machine has
          <textarea rows={4} value={text} data-focus onChange={({ target }) => setText(target.value)} />
        </label>
        <div className="buttons">
          <button type="submit" className="primary">
            Type {text.length} characters
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** Beyond Latin-1 the numbers of X11 are those of Unicode, marked. */
function keysymOf(character: string): number {
  if (character === '\n') return ENTER
  if (character === '\t') return TAB
  const code = character.codePointAt(0) ?? 0
  return code < 0x100 ? code : 0x1000000 + code
}

const ALT = 0xffe9
const CONTROL = 0xffe3
const F1 = 0xffbe
const TERMINALS = [1, 2, 3, 4, 5, 6]

function KeysDialog({ rfb, close }: { rfb: RFB; close(): void }) {
  const send = (work: () => void): void => {
    work()
    close()
    rfb.focus()
  }
  const terminal = (number: number): void => {
    rfb.sendKey(CONTROL, 'ControlLeft', true)
    rfb.sendKey(ALT, 'AltLeft', true)
    rfb.sendKey(F1 + number - 1, `F${number}`)
    rfb.sendKey(ALT, 'AltLeft', false)
    rfb.sendKey(CONTROL, 'ControlLeft', false)
  }
  return (
    <Dialog title="Keys" close={close}>
      <div className="actions">
        {TERMINALS.map((number) => (
          <button key={number} type="button" onClick={() => send(() => terminal(number))}>
            Ctrl Alt F{number}
          </button>
        ))}
        <button type="button" className="destroys" onClick={() => send(() => rfb.sendCtrlAltDel())}>
          Ctrl Alt Del
        </button>
      </div>
    </Dialog>
  )
}
