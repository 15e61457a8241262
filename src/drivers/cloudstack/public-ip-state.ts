// Our three states of a public address (cloudstack.md H): what is on its way counts as where it goes.
import { flagOf, type Raw, textOf } from './fields.ts'

export function publicIpState(row: Raw): 'Allocated' | 'Associated' | 'Released' {
  const state = textOf(row, 'state')
  if (state === 'Free' || state === 'Releasing') return 'Released'
  const used =
    flagOf(row, 'isstaticnat') === true ||
    flagOf(row, 'hasrules') === true ||
    textOf(row, 'associatednetworkid') !== null
  return state === 'Allocated' && used ? 'Associated' : 'Allocated'
}
