// A part of a node that its agent answers: without an address there is nobody to ask.
import type { ReactNode } from 'react'
import type { NodeProps } from './node.ts'

export function AskedNode({ node, children }: NodeProps & { children(address: string): ReactNode }) {
  if (node.node_ip === null)
    return <p>The management address of this node is not known, so its agent cannot be asked.</p>
  return <>{children(node.node_ip)}</>
}

/** Why fields have no value. */
export function Missing({ unavailable }: { unavailable: readonly { field: string; reason: string }[] }) {
  if (unavailable.length === 0) return null
  return (
    <details>
      <summary>{unavailable.length} values are not known</summary>
      <ul>
        {unavailable.map(({ field, reason }) => (
          <li key={field}>
            <code>{field}</code> {reason}
          </li>
        ))}
      </ul>
    </details>
  )
}
