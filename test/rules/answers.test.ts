// The check of documented answers after a full run: what it asks for, and that its exceptions are no more than that.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { documentedPairs, exceptedPairs, gaps, readRecords, thrownCodes } from '../support/answer-check.ts'
import { UNSEEN_ANSWERS, UNSEEN_CODES } from '../support/unseen-answers.ts'
import { tempFolder } from '../support/temp-folder.ts'

test('every exception is a documented answer or a code of the source, stands once, and says why', () => {
  const [pairs, codes] = [exceptedPairs(), UNSEEN_CODES.flatMap((row): string[] => [...row.codes])]
  assert.deepEqual(
    pairs.filter((pair) => !documentedPairs().includes(pair)),
    [],
  )
  assert.deepEqual(
    codes.filter((code) => !thrownCodes().includes(code)),
    [],
  )
  assert.equal(new Set([...pairs, ...codes]).size, pairs.length + codes.length)
  for (const { why } of [...UNSEEN_ANSWERS, ...UNSEEN_CODES]) assert.match(why, /^[A-Z].{20,}\.$/)
})

test('what no server answered is a gap; an answer given only because a server stopped is none', () => {
  const folder = tempFolder('gp-answers-')
  const nothing = gaps(readRecords(folder))
  assert.equal(nothing.pairs.length, documentedPairs().length - exceptedPairs().length)
  assert.ok(nothing.codes.includes('VM_STATE'))
  writeFileSync(
    join(folder, '1.txt'),
    'vmStart 200 -\nvmStart 400 VM_STATE\nvmStart 500 SHUTTING_DOWN\nhealthGet 500 INTERNAL_ERROR\n',
  )
  const { pairs, codes, needless } = gaps(readRecords(folder))
  assert.deepEqual(
    ['vmStart 200', 'vmStart 400', 'vmStart 500'].filter((pair) => pairs.includes(pair)),
    ['vmStart 500'],
  )
  assert.ok(!codes.includes('VM_STATE') && nothing.pairs.length === pairs.length + 2)
  assert.deepEqual(needless, ['healthGet 500', 'SHUTTING_DOWN'])
})
