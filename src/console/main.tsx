// The console starts here: finds the session, follows the stream, draws.
import { QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { queries } from './api/queries.ts'
import { App } from './frame/app.tsx'
import { applyTheme } from './frame/theme.ts'
import { watchHealth } from './health.ts'
import { findSession } from './session/sign-in.ts'
import { setSession } from './session/session.ts'
import { followStream } from './stream/effects.ts'
import './style.css'

applyTheme()
followStream()
watchHealth()
findSession().catch(() => setSession({ phase: 'unreachable' }))
createRoot(document.querySelector('#root') as HTMLElement).render(
  <QueryClientProvider client={queries}>
    <App />
  </QueryClientProvider>,
)
