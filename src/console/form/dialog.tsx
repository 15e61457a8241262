// A dialog of the browser's own: it holds the focus, closes by Escape, and gives the focus back.
import { type ReactNode, useEffect, useId, useRef } from 'react'

interface DialogProps {
  title: string
  className?: string
  close(): void
  children: ReactNode
}

export function Dialog({ title, className, close, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    // The browser would take the first control, which is the one that closes.
    shown?.querySelector<HTMLElement>('[data-focus]')?.focus()
    return () => shown?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className={className}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" className="quiet" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}
