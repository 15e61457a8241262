// `groundplane control --config FILE`: the control plane in production.
import { parseArgs } from 'node:util'
import closeWithGrace from 'close-with-grace'
import { ConfigError, loadConfig } from '#src/kernel/config.ts'
import { startControlPlane } from './control-plane.ts'

const { values } = parseArgs({ options: { config: { type: 'string', short: 'c' } } })

try {
  const control = await startControlPlane(loadConfig(values.config, process.env), { admin_token: 'first-start' })
  if (control.admin_token !== undefined) {
    console.error(`First start. Admin token, shown once and kept in the data folder: ${control.admin_token}`)
  }
  closeWithGrace({ delay: 15_000, logger: false }, async ({ err }) => {
    if (err !== undefined) control.log.error({ err }, 'stopping after an error that nobody caught')
    await control.close()
  })
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error)
  process.exit(1)
}
