// What can be done with a thing: a button an operation, each with its reason where it is closed, and its form in a dialog.
import { useState } from 'react'
import { operationRow } from '../api/contract.ts'
import { useDetails } from '../api/details.ts'
import { whyNot } from '../api/why-not.ts'
import { Dialog } from '../form/dialog.tsx'
import { Problem } from '../form/problem.tsx'
import { Prose } from '../form/prose.tsx'
import { OperationForm, type ThingOperation } from '../form/operation-form.tsx'
import { useMe } from '../session/session.ts'

export function OperationButtons({ operations }: { operations: readonly ThingOperation[] }) {
  const me = useMe()
  const [open, setOpen] = useState<ThingOperation>()
  return (
    <>
      <div className="actions">
        {operations.map((one) => {
          const why = whyNot(me, one.operation) ?? one.why ?? null
          return (
            <button
              key={`${one.operation} ${one.label ?? ''}`}
              type="button"
              className={one.confirm === undefined ? '' : 'destroys'}
              aria-disabled={why !== null}
              onClick={() => {
                if (why === null) setOpen(one)
              }}
            >
              {labelOf(one)}
              {why !== null && <small>{why}</small>}
            </button>
          )
        })}
      </div>
      {open !== undefined && <OperationDialog thing={open} close={() => setOpen(undefined)} />}
    </>
  )
}

function labelOf({ operation, label }: ThingOperation): string {
  return label ?? operationRow(operation).summary
}

function OperationDialog({ thing, close }: { thing: ThingOperation; close(): void }) {
  const { details, error } = useDetails(thing.operation)
  return (
    <Dialog title={labelOf(thing)} close={close}>
      {details?.description && (
        <p className="help">
          <Prose text={details.description} />
        </p>
      )}
      {error !== undefined && <Problem error={error} />}
      {details !== undefined && (
        <OperationForm
          operation={thing.operation}
          row={operationRow(thing.operation)}
          details={details}
          within={thing}
          close={close}
        />
      )}
    </Dialog>
  )
}
