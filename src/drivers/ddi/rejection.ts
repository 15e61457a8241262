// A change that a DHCP, DNS or IPAM server says no to. Nothing was changed then, and its sentence tells the caller why.
import { type ErrorMeaning, UpstreamError, type UpstreamErrorOptions } from '#src/kernel/errors.ts'
import { withoutInner } from '#src/kernel/inner-text.ts'

type RejectingServer = 'DHCP' | 'DNS' | 'IPAM'

interface RejectionOptions extends Omit<UpstreamErrorOptions, 'upstream' | 'failure'> {
  upstream: RejectingServer
  /** The server's own sentence. */
  detail: string
  /** What was sent: addresses and names of it may be repeated to the caller. */
  sent: unknown
}

const LONGEST = 300
const NAMES: Readonly<Record<RejectingServer, string>> = {
  DHCP: 'DHCP server',
  DNS: 'DNS server',
  IPAM: 'address store',
}

export class RejectionError extends UpstreamError {
  readonly #server: RejectingServer
  /** Never logged. */
  readonly #sent: string
  constructor({ sent, ...options }: RejectionOptions) {
    super({ ...options, failure: 'error' })
    this.#server = options.upstream
    this.#sent = typeof sent === 'string' ? sent : (JSON.stringify(sent) ?? '')
  }

  /** Tenants read no sentence that may speak of others. */
  override meaning(tenant_id: string | null): ErrorMeaning {
    const sentence = tenant_id === null ? publicSentence(this.detail ?? '', this.#sent) : ''
    const refused = `The ${NAMES[this.#server]} refused the request`
    return { code: `${this.#server}_REJECTED`, message: sentence === '' ? `${refused}.` : `${refused}: ${sentence}.` }
  }
}

/** Files are of the server's machine; `(<string>:1:5)` is a place in the text that we sent. */
function publicSentence(text: string, sent: string): string {
  const plain = text
    .replace(/\(<\w+>:[\d:]+\)/g, '')
    .replace(/(?<=^|[\s'"(])(?:\/[\w.+-]+){2,}\/?|\b[A-Z]:\\\S+/g, '[path]')
    .replace(/\s+/g, ' ')
    .trim()
  return withoutInner(plain, sent, LONGEST).replace(/[\s.:;,]+$/, '')
}
