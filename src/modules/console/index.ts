// Serves the web console of src/console.
import { console } from '#src/contract/console.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { createConsoleFiles, type PageFacts } from './files.ts'

export function consoleModule({ config }: Parts, commands: PageFacts['commands']): Module {
  const files = createConsoleFiles({ oidc: config.auth.oidc !== undefined, commands })
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
