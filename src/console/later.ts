// What is large and rarely wanted is a file of its own: whoever opens it fetches it.
import { type ComponentType, lazy, type LazyExoticComponent } from 'react'
import { OLDER } from './api/contract.ts'

/** A component of a file that `import()` names. A file that is gone belongs to another version of the service. */
export function later<Props>(fetched: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> {
  return lazy(() =>
    fetched().then(
      (component) => ({ default: component }),
      () => {
        throw new Error(OLDER)
      },
    ),
  )
}
