// The web console: its page and the files that it is made of. They hold nothing of anybody: what the page shows it asks for itself.
import { Type } from 'typebox'
import { Closed } from './common.ts'
import { defineArea } from './route.ts'

const shared = { method: 'GET', access: 'public', kind: 'bytes', extension: true } as const
const Page = Type.String({ contentMediaType: 'text/html', description: 'The page.' })

export const console = defineArea({
  name: 'console',
  description: 'A page through which people use all of this API.',
  routes: {
    consolePage: {
      ...shared,
      path: '/console',
      summary: 'Show console',
      description: 'Works without the Internet. It is made from the contract: every operation has a form there.',
      ok: { 200: Page },
      errors: [500],
      example: {},
    },
    consoleView: {
      ...shared,
      path: '/console/{path*}',
      summary: 'Show view of console',
      description: 'The same page at every address below; the address says what it shows.',
      params: Closed({ path: Type.String({ maxLength: 2000, description: 'Of the view, such as `vms/4d9ae3d4`.' }) }),
      ok: { 200: Page },
      errors: [500],
      example: { params: { path: 'vms' } },
    },
    consoleAsset: {
      ...shared,
      path: '/console/assets/{file}',
      summary: 'Get file of console',
      description: 'Compressed beforehand. The name changes with the content, so that browsers may cache it for good.',
      params: Closed({ file: Type.String({ maxLength: 100, description: 'Name of the file, as the page gives it.' }) }),
      ok: { 200: Type.Unknown({ description: 'Script, style, or description of the operations.' }) },
      errors: [404, 500],
      example: { params: { file: 'main-ABCDEFGH.js' } },
    },
  },
})
