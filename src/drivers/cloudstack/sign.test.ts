import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeArgs } from './args.ts'
import { signature, signedForm, signedText } from './sign.ts'

// The second example of section 1.2 of the platform notes: every character that encoders disagree about.
const args = encodeArgs({
  id: '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001',
  displayname: "a b+c*~!'()/[x]é",
  details: { UEFI: 'SECURE', cpuNumber: 4, 'virtual.tpm.model': 'tpm-crb' },
})
const params = {
  ...args, apikey: 'k', command: 'updateVirtualMachine', response: 'json', signatureversion: '3', expires: '2030-01-01T00:00:00+0000',
} // biome-ignore format: one request

test('the signed text sorts raw names and encodes as the server does', () => {
  assert.equal(
    signedText(params),
    'apikey=k&command=updatevirtualmachine&details[0].uefi=secure&details[0].cpunumber=4&details[0].virtual.tpm.model=tpm-crb&displayname=a%20b%2bc*%7e%21%27%28%29%2f%5bx%5d%c3%a9&expires=2030-01-01t00%3a00%3a00%2b0000&id=4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001&response=json&signatureversion=3',
  )
})

test('the signature is the one of the published algorithm', () => {
  assert.equal(signature(params, 'secret-1', 'hmac-sha1'), '06N+A6sEx6DXvsndWdhB3wAGHjg=')
})

test('a request expires ten minutes after it was made and decodes to what was meant', () => {
  const form = new URLSearchParams(
    signedForm(
      'updateVirtualMachine',
      args,
      { api_key: 'k', secret_key: 'secret-1' },
      'hmac-sha1',
      Date.parse('2029-12-31T23:50:00Z'),
    ),
  )
  assert.equal(form.get('expires'), '2030-01-01T00:00:00+0000')
  assert.equal(form.get('displayname'), "a b+c*~!'()/[x]é")
  assert.equal(form.get('signature'), '06N+A6sEx6DXvsndWdhB3wAGHjg=')
})
