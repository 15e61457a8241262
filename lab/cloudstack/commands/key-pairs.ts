/** SSH key pairs, of which the platform keeps the public half. */
import { createHash, randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { ownerFields } from '../owner-view.ts'
import type { SshKeyPair } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, ownerFor, paged, same, visible } from '../scope.ts'
import { object, success } from '../wire.ts'

export const keyPairs: Commands = {
  listSSHKeyPairs: (call) => {
    const [mine, byId, keyword] = [visible(call), idTest(call), keywordTest(call)]
    const [name, fingerprint] = [same(call, 'name'), same(call, 'fingerprint')]
    const found = call.state.tables.sshkeypairs.filter(
      (one) => mine(one) && byId(one.id) && keyword(one.name) && name(one.name) && fingerprint(one.fingerprint),
    )
    return paged(call, found, (one) => keyView(call, one))
  },
  registerSSHKeyPair: (call) => {
    const { params, state } = call
    const name = params.need('name')
    const owner = ownerFor(call)
    if (ownKey(call, name) !== undefined) throw invalid(`A key pair with name '${name}' already exists.`)
    const [type, blob] = params.need('publickey').split(' ')
    if (type === undefined || blob === undefined) throw invalid('Public key is invalid')
    const digest = createHash('md5').update(Buffer.from(blob, 'base64')).digest('hex')
    const fingerprint = digest.match(/../g)?.join(':') ?? ''
    const one = { id: randomUUID(), name, publickey: `${type} ${blob}`, fingerprint, ...owner }
    state.tables.sshkeypairs.put(one)
    return object(keyView(call, one))
  },
  deleteSSHKeyPair: (call) => {
    const name = call.params.need('name')
    const found = ownKey(call, name)
    if (found === undefined) throw invalid(`A key pair with name '${name}' does not exist for account`)
    call.state.tables.sshkeypairs.remove(found.id)
    return success()
  },
}

/** Those that a new machine names must be its owner's. */
export function requireKeyPairs(call: Call): void {
  if (!call.params.list('keypairs').every((name) => ownKey(call, name) !== undefined))
    throw invalid('Not all specified keypairs exist')
}

function ownKey(call: Call, name: string): SshKeyPair | undefined {
  const owner = ownerFor(call)
  const { sshkeypairs } = call.state.tables
  const [found] = sshkeypairs.filter(
    (one) => one.name === name && one.accountid === owner.accountid && one.projectid === owner.projectid,
  )
  return found
}

function keyView(call: Call, one: SshKeyPair): Record<string, Json> {
  const { id, name, fingerprint } = one
  return { id, name, fingerprint, ...ownerFields(call.state, one), hasannotations: false }
}
