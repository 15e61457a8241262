// Names and texts use the field's own words: what is on these lists has a usual name, which a reader knows without a dictionary.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

/** Parts of identifiers and of file names, each with what is used instead. */
const NAMES: Record<string, string> = {
  anew: 'again, or no_cache',
  authority: 'ca',
  door: 'control API, api',
  foreign: 'untrusted, or of another tenant',
  handover: 'submit',
  kept: 'cached, stored',
  look: 'poll, read, check',
  looked: 'polled, read',
  looking: 'polling',
  looks: 'polls, reads',
  membership: 'enrolment',
  namesakes: 'byName',
  narrowed: 'scoped',
  pace: 'limiter',
  picture: 'snapshot',
  pictures: 'snapshots',
  proof: 'postcondition',
  proofs: 'postconditions',
  refusal: 'rejection, error',
  refusals: 'rejections, errors',
  refusing: 'rejecting',
  sealed: 'encrypted',
  seldom: 'rarely',
  sighting: 'observation',
  stand: 'test bed',
  told: 'reported',
  turns: 'limiter',
  unproven: 'unverified',
  upkeep: 'maintenance',
  world: 'state, fixture',
}

/** Several parts in a row. */
const JOINED: Record<string, string> = {
  'give back': 'release',
  'hand over': 'submit',
  'put away': 'archive',
  'read back': 'verify',
  'secret box': 'keyring',
  'sign of life': 'heartbeat',
  'signs of life': 'heartbeats',
  'take back': 'rollBack',
}

/** Names that others gave: each with whose word it is. */
const NAMED_BY_OTHERS: Record<string, string> = {
  authority: 'the member of an enrolment answer, and of the identity on the disk of an agent',
  authority_fingerprint: 'the member of an enrolment token',
  AuthorityKeyIdentifierExtension: 'X.509',
  FOREIGN_KEY: 'PostgreSQL',
  sealed: 'a column of the database',
  sealed_key: 'a member of a stored setting',
  SETTINGS_NOT_KEPT: 'an error code',
  told_online: 'a column of the database',
}

/** Texts for people: comments, messages, titles of tests, documents. */
const PHRASES: Record<string, RegExp> = {
  'again; bypasses the cache': /\banew\b/i,
  archive: /\b(?:put|puts|putting) (?:it |them )?away\b/i,
  BMC: /\bmanagement controllers?\b/i,
  enrolment: /\bmemberships?\b/i,
  heartbeat: /\bsigns? of life\b/i,
  keyring: /\bsecret box\b/i,
  maintenance: /\bupkeep\b/i,
  'next page': /\bfurther pages?\b/i,
  'poll, read, check':
    /\b(?:a|an|the|each|every|one|this|that|next|last|first|second|two) looks?\b(?!-| (?:up|like|alike|of))/i,
  rarely: /\bseldom\b/i,
  'rejection, error': /\b(?:refusals?|refusing)\b/i,
  resolve: /\bnamesakes?\b/i,
  'roll back, release, restore': /\b(?:take|takes|taken|taking|give|gives|given|giving) (?:it |them |the \w+ )?back\b/i,
  snapshot: /\bpictures?\b/i,
  submit: /\bhand(?:s|ed|ing)? (?:it |them |work )?over\b/i,
  'tenant-scoped': /\bnarrowed\b/i,
  unknown: /\bnothing is known of\b/i,
  'verification, postcondition': /\b(?:proofs?|unproven|sightings?|read-back)\b/i,
}

/** What may stand in a text after all. */
const ALLOWED: { file: string; text: RegExp; reason: string }[] = [
  { file: 'lab/cloudstack/commands/nics.ts', text: /refusing to set default/, reason: 'the words of the platform' },
  { file: 'test/cli/events.test.ts', text: /id taken back/, reason: 'data of a stream, as in the standard' },
]

const FILES = globSync(['{src,bin,cli,lab,test,bench,tools}/**/*.{ts,md}', 'docs/{guides,decisions}/**/*.md', '*.md'], {
  exclude: (name) => name.includes('node_modules') || name.endsWith('words.test.ts'),
})

const PIECES = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g

/** Comments and quoted texts go; what a template computes stays. */
function codeOf(text: string): string {
  // A pattern that reads the words of a database is no identifier of ours.
  return text
    .replaceAll('foreign key', '')
    .replace(PIECES, (piece) =>
      piece.startsWith('`') ? [...piece.matchAll(/\$\{([^`]*?)\}/g)].map((found) => found[1]).join(' ') : ' ',
    )
}

function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
}

function insteadOf(name: string): string | undefined {
  const words = wordsOf(name)
  const joined = Object.entries(JOINED).find(([them]) => ` ${words.join(' ')} `.includes(` ${them} `))
  return (
    joined?.[1] ??
    words
      .filter((word, at) => !(word.startsWith('look') && words[at + 1] === 'up'))
      .map((word) => (Object.hasOwn(NAMES, word) ? NAMES[word] : undefined))
      .find(Boolean)
  )
}

test('no identifier and no file is named by a word that the field has another one for', () => {
  const bad = new Set<string>()
  for (const file of FILES) {
    const use = insteadOf(file.split('/').at(-1) ?? '')
    if (use !== undefined) bad.add(`${file}: name it ${use}`)
    if (!file.endsWith('.ts')) continue
    for (const [name] of codeOf(readFileSync(file, 'utf8')).matchAll(/[A-Za-z_$][\w$]*/g)) {
      const instead = Object.hasOwn(NAMED_BY_OTHERS, name) ? undefined : insteadOf(name)
      if (instead !== undefined) bad.add(`${file}: ${name}: use ${instead}`)
    }
  }
  assert.deepEqual([...bad], [])
})

test('comments, messages and documents use the usual words', () => {
  const bad: string[] = []
  for (const file of FILES) {
    for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
      for (const [use, pattern] of Object.entries(PHRASES)) {
        const found = pattern.exec(line)?.[0]
        if (found === undefined || ALLOWED.some((one) => file.endsWith(one.file) && one.text.test(line))) continue
        bad.push(`${file}:${at + 1}: ${found}: use ${use}`)
      }
    }
  }
  assert.deepEqual(bad, [])
})
