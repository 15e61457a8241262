// Loaded into every test file by scripts/run-tests: node:test follows each promise of a process, to know which suite defines a
// test and which test an uncaught error comes from. That takes a fifth of the processor time, so a group of files
// (process-groups.ts) ends it when all tests are defined. Such an error fails the group all the same, and is printed here.
import async_hooks, { type AsyncHook, createHook, type HookCallbacks } from 'node:async_hooks'

const hooks: AsyncHook[] = []

if (process.env['NODE_TEST_CONTEXT'] !== undefined) {
  // The runner makes its hook here when the first test is defined. No package that we load makes one.
  Object.assign(async_hooks, {
    createHook(callbacks: HookCallbacks) {
      const hook = createHook(callbacks)
      hooks.push(hook)
      return hook
    },
  })
}

/** From here on `test`, `before` and `after` may be called by nobody; `t.test` and `t.after` may. */
export function followNoPromises(): void {
  if (hooks.length === 0) return
  for (const hook of hooks.splice(0)) hook.disable()
  const print = (error: unknown): void => console.error('uncaught:', error)
  process.on('uncaughtException', print).on('unhandledRejection', print)
}
