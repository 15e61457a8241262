// Fixture: /proc/net/bonding/bond0 of lab/hosts/kvm-01, recorded on an emulated machine.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bondOf } from './bonds.ts'

test('the parameters of a bond are those of the driver, in the words of the configuration', () => {
  const text = readFileSync('lab/hosts/kvm-01/files/proc/net/bonding/bond0', 'utf8')
  assert.deepEqual(bondOf('bond0', text), {
    name: 'bond0', mode: '802.3ad', miimon: '100', hash: 'layer3+4', rate: 'fast',
  }) // biome-ignore format: one record
  assert.deepEqual(bondOf('bond1', ''), { name: 'bond1', mode: null, miimon: null, hash: null, rate: null })
})
