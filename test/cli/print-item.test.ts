import { describe, expect, it } from 'vitest'
import type { InboxEntry } from '../../src/inbox/inbox.ts'
import { formatCounts, formatItem, formatItems, toItemRecord } from '../../tools/cli/output/print-item.ts'

const AT = Date.UTC(2025, 0, 1)
const ITEM: InboxEntry = {
  key: 'acme:evt_1',
  bytes: Buffer.from('{}'),
  accountKey: 'acme',
  id: 'evt_1',
  type: 'contact.created',
  receivedAt: AT,
  since: AT,
  dueAt: AT + 3_000,
  state: 'waiting',
  failures: 2,
  deaths: 0,
  marks: ['audit'],
  tries: [
    {
      n: 3,
      dueAt: AT,
      startedAt: Number.NaN,
      endedAt: AT,
      code: 'handler_failed',
      error: 'x'.repeat(101),
      worker: 'w',
    },
  ],
}

it('ends the counts of an inbox at 10000', () => {
  const counts = { waiting: 10_000, running: 9_999, dead: 0, oldestDueAt: undefined }
  const rows = 'STATE       EVENTS\nwaiting     10000 or more\nrunning     9999\ndead        0\noldest due  -'
  expect(formatCounts(counts)).toBe(rows)
})

it('counts the events that wait for another one of their lane, if there are any', () => {
  const counts = { waiting: 3, running: 0, dead: 0, oldestDueAt: undefined, parked: 2, oldestParkedAt: Date.now() }
  expect(formatCounts(counts)).toMatch(/behind another of their lane +2\noldest of these +\d+ m?s ago$/)
})

it.each([
  ['dead', 'DEAD SINCE'],
  ['waiting', 'NEXT TRY'],
  ['running', 'WAS DUE'],
] as const)('lists an event that is %s with %s, and the begin of a long error', (state, head) => {
  const [columns, line] = formatItems([{ ...ITEM, state }], state).split('\n')
  expect(columns).toContain(`  ${head}  `)
  expect(line).toMatch(/ 2025-01-01T00:00:03\.000Z +3 +handler_failed {2}x{100}…$/)
})

describe('an event that is shown', () => {
  const cellsOf = (fields: Partial<InboxEntry>) => {
    const lines = formatItem({ ...ITEM, ...fields }).split('\n')
    return Object.fromEntries(lines.map((line) => line.split(/ {2,}/)))
  }

  it('names its last replay, the processes that died, its trace, its lane and its finished handlers only if there are any', () => {
    const trace = { traceparent: '00-aa-bb-01' }
    const rare = { 'last queued': '2025-01-01T00:00:00.001Z', 'processes died': '1', trace: '00-aa-bb-01' }
    expect(cellsOf({ since: AT + 1, deaths: 1, trace })).toMatchObject(rare)
    expect(cellsOf({ lane: '1:a', behind: 'acme:evt_0' })).toMatchObject({ lane: '1:a', 'waits behind': 'acme:evt_0' })
    for (const name of [...Object.keys(rare), 'finished handlers', 'lane', 'waits behind'])
      expect(cellsOf({})).not.toHaveProperty(name)
    expect(cellsOf({ state: 'dead', marks: [] })).toMatchObject({ 'finished handlers': 'none' })
  })

  it('has no table of tries if it was not tried', () => {
    expect(formatItem({ ...ITEM, tries: [] })).toMatch(/source +-\n.*\ntries +0$/s)
  })

  it('has dashes, and null for programs, for times that no date can hold', () => {
    const item = { ...ITEM, dueAt: Number.MAX_SAFE_INTEGER }
    expect(formatItem(item)).toMatch(/^next try +-$/m)
    const tries = [{ startedAt: null, endedAt: '2025-01-01T00:00:00.000Z' }]
    expect(toItemRecord(item)).toMatchObject({ dueAt: null, source: null, trace: null, tries })
  })
})
