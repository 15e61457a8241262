// Every rejection and failed job recorded from a real platform, and what it means to our caller.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import messages from '../fixtures/cloudstack/error-messages.json' with { type: 'json' }
import recorded from '../fixtures/cloudstack/errors.json' with { type: 'json' }
import { contentOf } from '#src/drivers/cloudstack/answer.ts'
import { outcomeOf, readJob } from '#src/drivers/cloudstack/async-job.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { ERRORS } from '#src/contract/errors.ts'
import { type ApiError, mapUpstreamError } from '#src/kernel/errors.ts'

type Recorded = (typeof recorded.errors)[number]

/** Where the platform itself is at fault, or the account that the service uses there; nothing a caller could change. */
const NOT_THE_CALLER: Readonly<Record<string, string>> = {
  'createVPC-over-threshold.job-failed': 'no reason given',
  'listCapabilities-product': 'credentials of the service',
  'listCapacity-product-2': 'a null pointer of the platform',
  'listGpuCards-keyword': 'wrong SQL of the platform',
  'listSamlAuthorization-plugin-missing': 'the command is missing there',
  'authorizeSamlSso-plugin-missing': 'the command is missing there',
  'login-get': 'a sign-in that the service never sends',
  'login-wrong-password': 'credentials of the service',
  'queryAsyncJobResult-number': 'no reason given',
  'queryAsyncJobResult-number.job-failed': 'no reason given',
  'queryAsyncJobResult-product-6': 'no reason given',
  'resizeVolume-smaller-shrinkok.job-failed': 'the storage did not take the size',
  'restartNetwork-livepatch.job-failed': 'a class cast of the platform',
  'xml-answer-when-no-response-parameter': 'no JSON',
}

function errorOf({ command, status, answer, sent }: Recorded): CloudStackError {
  const job = typeof answer === 'object' && 'jobstatus' in answer ? answer : undefined
  const text = typeof answer === 'string' ? answer : JSON.stringify({ recordedresponse: answer })
  try {
    if (job === undefined) contentOf(command, { status, text }, sent as Record<string, string>)
    else outcomeOf(readJob(job, 'recorded'), sent as Record<string, string>)
  } catch (error) {
    assert.ok(error instanceof CloudStackError, String(error))
    return error
  }
  return assert.fail('it is no error')
}

const mapped = (entry: Recorded, tenant_id: string | null = null): ApiError =>
  mapUpstreamError(errorOf(entry), tenant_id)

/** Wrong keys, unknown commands and missing rights: about the account of the service, whoever calls. */
const ofTheService = ({ status, answer }: Recorded): boolean =>
  status === 401 || (status === 432 && JSON.stringify(answer).includes('The API ['))

test('every recorded rejection and failed job has a code; what the caller caused is 400, 404 or 409', () => {
  assert.equal(recorded.errors.length, 519)
  for (const entry of recorded.errors) {
    const { status } = ERRORS[mapped(entry).code]
    const fault = entry.name in NOT_THE_CALLER || ofTheService(entry)
    assert.ok(fault ? status === 'upstream' : [400, 404, 409].includes(Number(status)), `${entry.name}: ${status}`)
  }
})

test('none falls to a sentence for texts that nobody has seen', () => {
  for (const entry of recorded.errors) {
    const { operation, status = 530, cserrorcode } = errorOf(entry)
    const sent = entry.sent as Record<string, string>
    const unseen = new CloudStackError({ operation, failure: 'error', status, cserrorcode, sent, detail: 'unseen' })
    assert.notEqual(mapped(entry).message, mapUpstreamError(unseen, null).message, entry.name)
  }
})

test('each recorded text has exactly the message that was reviewed', () => {
  const expected = new Map<string, string>()
  for (const [code, by_message] of Object.entries(messages.messages))
    for (const [message, names] of Object.entries(by_message))
      for (const name of names as string[]) expected.set(name, `${code}: ${message}`)
  for (const entry of recorded.errors) {
    const { code, message } = mapped(entry)
    assert.equal(`${code}: ${message}`, expected.get(entry.name), entry.name)
  }
  assert.equal(expected.size, recorded.errors.length)
})

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi
const INNER = /SimulatedAgent|\bi-\d+-\d+-|\br-\d+-|\bcom\.cloud|org\.apache|vlan:\/\/|[{}]|"id"/

test('a message to callers of a tenant names no id of others and nothing of the inside of the platform', () => {
  for (const entry of recorded.errors) {
    const { message } = mapped(entry, 'f0000000-0000-4000-8000-00000000000f')
    const sent = JSON.stringify(entry.sent)
    for (const [id] of message.matchAll(UUID))
      assert.ok(sent.includes(id) || inEnvelope(entry, id), `${entry.name}: ${message}`)
    assert.doesNotMatch(message, INNER, entry.name)
  }
})

/** A text that repeats what its own command got: "Invalid parameter id value=…". */
function inEnvelope({ answer }: Recorded, id: string): boolean {
  return new RegExp(`(Invalid parameter \\w+ value|UUID:|Unable to use network with id)=? ?${id}`).test(
    JSON.stringify(answer),
  )
}

test('the platform’s own sentence is without objects and without addresses that the request did not name', () => {
  for (const entry of recorded.errors) {
    const { upstream_message = '' } = mapped(entry)
    const sent = JSON.stringify(entry.sent)
    for (const [address] of upstream_message.matchAll(/\b\d{1,3}(?:\.\d{1,3}){3}\b/g))
      assert.ok(sent.includes(address), `${entry.name}: ${upstream_message}`)
    assert.doesNotMatch(upstream_message, /SimulatedAgent|com\.cloud|\{"|vlan:/, entry.name)
  }
})

test('secrets in a text of the platform are hidden from everybody', () => {
  const texts = [
    'Unable to bind with password=hunter2-hunter2',
    'invalid value hunter2-hunter2 for parameter password',
    'secretkey: hunter2-hunter2 is refused at https://user:hunter2-hunter2@10.0.0.9/client',
  ]
  for (const detail of texts) {
    const error = new CloudStackError({ operation: 'x', failure: 'error', status: 431, detail })
    const { message, upstream_message = '' } = mapUpstreamError(error, null)
    assert.ok(!`${message} ${upstream_message}`.includes('hunter2'), `${message} | ${upstream_message}`)
  }
})

test('a limit says what is used, to whom it belongs; that of a tenant above is not told below it', () => {
  const tenant = 'b98906ce-19a6-4495-bed1-ce11691c7a6f'
  const entry = recorded.errors.find(({ name }) => name === 'deployVirtualMachine-domain-limit-memory')
  assert.ok(entry !== undefined)
  const own = `Tenant ${tenant} has 0 of 100 MiB of memory, and this needs 512 more; raise the limit or delete something.`
  assert.equal(mapped(entry, tenant).message, own)
  assert.equal(mapped(entry, null).message, own)
  const below = mapped(entry, 'f0000000-0000-4000-8000-00000000000f').message
  assert.equal(below, 'A tenant above yours has no MiB of memory left; ask its operators to raise the limit.')
})

test('a limit that a job reports as an inner error is a limit nevertheless', () => {
  const detail =
    "Maximum domain resource limits of Type 'cpu' for Domain Id = b98906ce-19a6-4495-bed1-ce11691c7a6f is exceeded: Domain Resource Limit = 4, Current Domain Resource Amount = 3, Current Resource Reservation = 0, Requested Resource Amount = 2."
  const error = new CloudStackError({ operation: 'ScaleVMCmd', failure: 'error', status: 530, detail })
  const { code, message } = mapUpstreamError(error, null)
  assert.equal(code, 'QUOTA_EXCEEDED')
  assert.match(message, /has 3 of 4 CPU cores, and this needs 2 more/)
})

test('a network of another tenant does not exist to a caller of a tenant', () => {
  const entry = recorded.errors.find(({ name }) => name === 'deployVirtualMachine-foreign-network')
  assert.ok(entry !== undefined)
  const { code, message } = mapped(entry, 'f0000000-0000-4000-8000-00000000000f')
  assert.deepEqual([code, message], ['RESOURCE_NOT_FOUND', 'Network 1e815d54-5ba6-4faa-9fd6-2364efa49a50 not found.'])
})
