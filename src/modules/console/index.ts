// Serves the web console of src/console.
import { console } from '#src/contract/console.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { createConsoleFiles } from './files.ts'

export function consoleModule({ config }: Parts): Module {
  const files = createConsoleFiles({ oidc: config.auth.oidc !== undefined })
  const page = () => files.page()
  return {
    areas: [
      serve(console, {
        consolePage: page,
        consoleView: page,
        consoleAsset: ({ params }, ctx) => files.asset(params.file, String(ctx.headers['accept-encoding'] ?? '')),
      }),
    ],
  }
}
