import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { findEngine } from '../engines/require.ts'
import { ROOT, readText } from '../support/repository.ts'
import { makeTestFolder } from '../support/test-folder.ts'

const MODEL = 'test/protocol-model/claims.pml'
const run = promisify(execFile)
const spin = findEngine('spin')
const gcc = findEngine('gcc')

/** The two searches: for a step that breaks a property, and for an endless run in which the event is never done. */
const SEARCHES = {
  // `-c0` does not stop at the first error.
  steps: { compile: ['-DNOCLAIM', '-DSAFETY'], search: ['-c0'] },
  // `-f` is fairness: a process that can act does.
  ends: { compile: [], search: ['-a', '-f'] },
} as const

/** Two troubles show each. */
const MISTAKES = [
  ['BUSY_ANSWERED_AS_DUPLICATE', 'early'],
  ['RELEASED_WITHOUT_MARKS', 'again'],
  ['RELEASED_BY_ANY_TOKEN', 'again'],
  ['MARKS_NOT_READ', 'forgotten'],
  ['COMMITTED_BY_ANY_TOKEN', 'twice'],
  ['MARKED_AFTER_COMMIT', 'twice'],
  ['RENEWED_WHEN_DONE', 'reopened'],
  ['CLAIMED_WITHOUT_LEASE', 'stuck'],
  ['NEVER_ABANDONED', 'stuck'],
] as const

describe.skipIf(spin === undefined || gcc === undefined)('the model of the claims', () => {
  it.each([
    ['steps', 4, 500_000],
    ['ends', 3, 80_000],
  ] as const)('breaks no property in its %s with %i troubles', async (kind, troubles, leastStates) => {
    const { broken, states, output } = await search(kind, troubles)
    expect(broken).toEqual([])
    expect(output).toContain('errors: 0')
    expect(output).not.toMatch(/Search not completed|max search depth too small/)
    expect(states).toBeGreaterThan(leastStates)
  })

  it.each(MISTAKES)('breaks one property with the mistake %s: %s', async (mistake, property) => {
    const { broken } = await search(property === 'stuck' ? 'ends' : 'steps', 2, mistake)
    expect(broken).toEqual([property])
  })
})

it('the model of the claims has a mistake for each property, and each property is a sentence of the guarantees', () => {
  const model = readText(MODEL)
  const properties = [...model.matchAll(/^ \* (\w+): "/gm)].map(([, name]) => name)
  expect(new Set(MISTAKES.map(([, property]) => property))).toEqual(new Set(properties))
  const guarantees = readText('docs/reference/guarantees.md').replace(/\s+/g, ' ')
  const sentences = [...model.replace(/\n \* +/g, ' ').matchAll(/"([^"]+)"/g)].map(([, sentence]) => sentence)
  expect(sentences.length).toBeGreaterThan(properties.length)
  for (const sentence of sentences) expect(guarantees).toContain(sentence)
})

/** Has SPIN write the search as a program in C, and runs that. */
async function search(kind: keyof typeof SEARCHES, troubles: number, mistake = 'NONE') {
  if (spin === undefined || gcc === undefined) throw new Error('the tests are skipped then')
  const options = { cwd: makeTestFolder(), maxBuffer: 2 ** 26 }
  const { compile, search: how } = SEARCHES[kind]
  await run(spin, [`-DTROUBLES=${troubles}`, `-DMISTAKE=${mistake}`, '-a', ROOT + MODEL], options)
  await run(gcc, ['-w', '-DMEMLIM=900', ...compile, '-o', 'pan', 'pan.c'], options)
  const { stdout: output } = await run('./pan', [...how, '-n', '-m100000', '-w22'], options)
  const errors = [...output.matchAll(/^pan:\d+: (.*?) +\(at depth/gm)].map(([, message = '']) => toProperty(message))
  return { output, broken: [...new Set(errors)], states: Number(/(\d+) states, stored/.exec(output)?.[1]) }
}

/** Returns the property that a message of the search is about, or else the message. */
function toProperty(message: string): string {
  if (message === 'acceptance cycle') return 'stuck'
  return /^assertion violated +!\((\w+)\)$/.exec(message)?.[1] ?? message
}
