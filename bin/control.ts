// `groundplane control --config FILE`: the control plane in production.
import { parseArgs } from 'node:util'
import closeWithGrace from 'close-with-grace'
import { ConfigError, loadConfig } from '#src/kernel/config.ts'
import { startControlPlane } from './control-plane.ts'

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { config: { type: 'string', short: 'c' } } })
  let control: Awaited<ReturnType<typeof startControlPlane>>
  try {
    control = await startControlPlane(loadConfig(values.config, process.env), { admin_token: 'first-start' })
  } catch (error) {
    console.error(error instanceof ConfigError ? error.message : error)
    process.exitCode = 1
    return
  }
  if (control.admin_token !== undefined) {
    console.error(`First start. Admin token (shown once, also in the file admin-token of the data folder): ${control.admin_token}`)
  }
  closeWithGrace({ delay: 15_000, logger: false }, async ({ err }) => {
    if (err !== undefined) control.log.error({ err }, 'stopping after an error that nobody caught')
    await control.close()
  })
}

if (import.meta.main) await main(process.argv.slice(2))
