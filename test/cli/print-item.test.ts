import { describe, expect, it } from 'vitest'
import type { InboxEntry, InboxTry } from '../../src/inbox/inbox.ts'
import { formatBody, formatCounts, formatItem, formatItems, toItemRecord } from '../../tools/cli/output/print-item.ts'

const AT = Date.UTC(2025, 0, 1)
const TRY: InboxTry = {
  ...{ n: 3, dueAt: AT + 1_000, startedAt: AT + 2_000, endedAt: AT + 2_050 },
  ...{ code: 'handler_failed', error: 'no such customer', worker: 'host:1:x' },
}
const ITEM: InboxEntry = {
  ...{ key: 'acme:evt_1', bytes: Buffer.from('{}'), accountKey: 'acme', id: 'evt_1', type: 'contact.created' },
  ...{ receivedAt: AT, since: AT, dueAt: AT + 3_000, state: 'waiting', failures: 2, deaths: 0 },
  ...{ marks: [], tries: [TRY] },
}
const bodyOf = (text: string) => formatBody(Buffer.from(text))

describe('the counts of an inbox', () => {
  it('end at 10000, and tell for how long the oldest event has waited, if that is known', () => {
    const counts = { waiting: 10_000, running: 9_999, dead: 0 }
    const rows = 'STATE       EVENTS\nwaiting     10000 or more\nrunning     9999\ndead        0\noldest due  '
    expect(formatCounts({ ...counts, oldestDueAt: undefined })).toBe(`${rows}-\n`)
    expect(formatCounts({ ...counts, oldestDueAt: Date.now() - 300_000 })).toBe(`${rows}5 min ago\n`)
  })
})

describe('a list of events', () => {
  it.each([
    ['dead', 'DEAD SINCE'],
    ['waiting', 'NEXT TRY'],
    ['running', 'WAS DUE'],
  ] as const)('names the time of one that is %s: %s', (state, head) => {
    const [columns, line] = formatItems([{ ...ITEM, state }], state).split('\n')
    expect(columns?.split(/ {2,}/)).toEqual(['KEY', 'TYPE', 'EVENT', 'RECEIVED', head, 'TRIES', 'CODE', 'ERROR'])
    expect(line?.split(/ {2,}/)).toEqual([
      ...['acme:evt_1', 'contact.created', 'evt_1', '2025-01-01T00:00:00.000Z', '2025-01-01T00:00:03.000Z'],
      ...['3', 'handler_failed', 'no such customer'],
    ])
  })

  it('shows the last try, without the end of a long error, and dashes if there was none', () => {
    const { error: _error, ...silent } = TRY
    const lineOf = (tries: readonly InboxTry[]) => formatItems([{ ...ITEM, tries }], 'dead').split('\n')[1]
    const long = { ...TRY, error: 'x'.repeat(101) }
    expect(lineOf([{ ...TRY, n: 2 }, long])).toMatch(/ 3 {6}handler_failed {2}x{100}…$/)
    expect(lineOf([{ ...TRY, error: 'x'.repeat(100) }])).toMatch(/ x{100}$/)
    expect(lineOf([silent])).toMatch(/ 3 {6}handler_failed {2}-$/)
    expect(lineOf([])).toMatch(/ 0 {6}- {5}-$/)
  })
})

describe('an event that is shown', () => {
  const cellsOf = (fields: Partial<InboxEntry>) => {
    const lines = formatItem({ ...ITEM, ...fields }).split('\n')
    return Object.fromEntries(lines.map((line) => line.split(/ {2,}/)))
  }

  it('has a line for each thing that is known of it, and a table of its tries', () => {
    expect(formatItem({ ...ITEM, source: 'crm' })).toBe(
      [
        'key       acme:evt_1',
        'state     waiting',
        'type      contact.created',
        'event     evt_1',
        'account   acme',
        'source    crm',
        'received  2025-01-01T00:00:00.000Z',
        'next try  2025-01-01T00:00:03.000Z',
        'tries     3',
        '',
        'TRY  STARTED                   TOOK   CODE            WORKER    ERROR',
        '3    2025-01-01T00:00:02.000Z  50 ms  handler_failed  host:1:x  no such customer',
        '',
      ].join('\n'),
    )
  })

  it('has no table if it was not tried', () => {
    expect(formatItem({ ...ITEM, tries: [] })).toMatch(/source +-\n.*\ntries +0\n$/s)
  })

  it('names the time of its last replay, the processes that died and its trace, if there are any', () => {
    const trace = { traceparent: '00-aa-bb-01' }
    const rare = { 'last queued': '2025-01-01T00:00:00.001Z', 'processes died': '1', trace: '00-aa-bb-01' }
    expect(cellsOf({ since: AT + 1, deaths: 1, trace })).toMatchObject(rare)
    for (const name of Object.keys(rare)) expect(cellsOf({})).not.toHaveProperty(name)
  })

  it('names its finished handlers if it is dead', () => {
    expect(cellsOf({ state: 'dead', marks: ['audit', 'crm'] })).toMatchObject({ 'finished handlers': 'audit, crm' })
    expect(cellsOf({ state: 'dead' })).toMatchObject({ 'finished handlers': 'none', 'dead since': expect.any(String) })
    expect(cellsOf({ marks: ['audit'] })).not.toHaveProperty('finished handlers')
  })
})

describe('the record of an event', () => {
  it('has times as text, and what is unknown as null', () => {
    expect(toItemRecord(ITEM)).toEqual({
      ...{ key: 'acme:evt_1', state: 'waiting', eventType: 'contact.created', eventId: 'evt_1', accountKey: 'acme' },
      ...{ source: null, trace: null, receivedAt: '2025-01-01T00:00:00.000Z', since: '2025-01-01T00:00:00.000Z' },
      ...{ dueAt: '2025-01-01T00:00:03.000Z', failures: 2, deaths: 0, marks: [] },
      tries: [
        {
          ...{ n: 3, code: 'handler_failed', error: 'no such customer', worker: 'host:1:x' },
          ...{ dueAt: '2025-01-01T00:00:01.000Z', startedAt: '2025-01-01T00:00:02.000Z' },
          endedAt: '2025-01-01T00:00:02.050Z',
        },
      ],
    })
  })

  it('has the body only on request', () => {
    const record = toItemRecord({ ...ITEM, source: 'crm' }, ITEM.bytes)
    expect(record).toMatchObject({ source: 'crm', bodyBase64: 'e30=' })
  })
})

describe('a body', () => {
  it.each([
    ['a line for each value', '[1,{"b":"x, {y}"}]', '[\n  1,\n  {\n    "b": "x, {y}"\n  }\n]'],
    ['other blanks than its own', '{ "a" :\n [ 1 ,2 ] }', '{\n  "a": [\n    1,\n    2\n  ]\n}'],
    ['empty lists and objects on one line', '[{ },[ \n ],{}]', '[\n  {},\n  [],\n  {}\n]'],
    ['numbers and escapes as they stand', '[1.0e2,"\\u00eb\\"]"]', '[\n  1.0e2,\n  "\\u00eb\\"]"\n]'],
    ['a sign for what a terminal could obey', '["\u202e"]', '[\n  "?"\n]'],
    ['text that is no JSON as it stands', '}]x "', '}]x "'],
  ])('is shown with %s', (_what, text, shown) => {
    expect(bodyOf(text)).toBe(`${shown}\n`)
  })

  it('is shown even if it has a string of 4 MB', () => {
    const text = `${'x'.repeat(2_000_000)}${'\\n'.repeat(1_000_000)}`
    expect(bodyOf(`["${text}"]`) === `[\n  "${text}"\n]\n`).toBe(true)
  })
})

it('shows no time for one that no date can hold, and all else of the event', () => {
  const item: InboxEntry = { ...ITEM, dueAt: Number.MAX_SAFE_INTEGER, tries: [{ ...TRY, startedAt: Number.NaN }] }
  expect(formatItems([item], 'waiting')).toMatch(/evt_1 +2025-01-01T00:00:00\.000Z +- +3 /)
  expect(formatItem(item)).toMatch(/^next try +-$/m)
  const tries = [{ startedAt: null, endedAt: '2025-01-01T00:00:02.050Z' }]
  expect(toItemRecord(item)).toMatchObject({ dueAt: null, tries })
})
