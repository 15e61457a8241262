// Start-up leaves garbage behind (sources, schemas, migrations) that the engine would keep for as long as nothing happens:
// one collection returns it to the system. That of the last resort also shrinks the heap to what is in use.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export function releaseStartUpMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect({ type: 'major', flavor: 'last-resort' })
}
