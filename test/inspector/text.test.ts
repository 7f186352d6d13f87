import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { readDelivery } from '../../tools/cli/input/read-delivery.ts'
import type { Row } from '../../tools/emulator/contract.ts'
import { toFixture, toVitest } from '../../tools/emulator/inspector/copies.ts'
import { listTexts, nameZones, readFilter, readWord, writeWord } from '../../tools/inspector/model/filter.ts'
import { readPasted, replaceId } from '../../tools/inspector/text/edit-body.ts'
import { showAgo, showExact, showExactly, showIn } from '../../tools/inspector/text/show.ts'

const ROW: Row = {
  ...{
    id: 'd1',
    made: 1,
    change: 1,
    account: 'acme',
    webhook: 'w1',
    event: 'evt_1',
    type: 'contact.created',
    status: 'pending',
  },
  record: 'c1',
  advice: null,
  reason: { text: 'Mailchimp said "no", 502', handlers: ['audit'] },
  inbox: null,
  signing: 'valid',
  resendOf: null,
  note: null,
  at: '1970-01-01T00:16:40.000Z',
  nextAt: null,
  times: [4],
  last: { result: '401', code: 'unauthorized', isAcknowledged: false, at: '1970-01-01T00:16:40.000Z' },
}

const CONTEXT = {
  urlOf: () => 'http://localhost:3000/hooks',
  now: 1_005_000,
  outcomeOf: () => 'retrying' as const,
  causeOf: ({ type, reason }: Row) => `${type} · ${reason?.text}`,
  hasText: (_id: string, text: string) => text === 'a b',
}

describe('a filter', () => {
  it.each([
    ['', true],
    ['EVT_1', true],
    ['type:contact.created', true],
    ['type:contact.*', true],
    ['type:*.deleted', false],
    ['type:*tact.*ed', true],
    ['type:*x*', false],
    ['type:con*x*ed', false],
    ['type:contact?created', false],
    ['type:cont', false],
    ['status:retrying', true],
    ['-status:retrying', false],
    ['status:failed', false],
    ['status:failed,retrying', true],
    ['code:401', true],
    ['code:404,401', true],
    ['code:404,200', false],
    ['-code:404,401', false],
    ['cause:"contact.created · Mailchimp said \\"no\\", 502"', true],
    ['cause:"contact.created · Mailchimp said"', false],
    ['code:40', false],
    ['webhook:localhost:3000/hooks', true],
    ['webhook::3000', true],
    ['webhook:other', false],
    ['webhook:/hooks', true],
    ['webhook:/hook', false],
    ['webhook:/', false],
    ['webhook:localhost', true],
    ['webhook:host', false],
    ['webhook:localhost:300', false],
    ['webhook:http://localhost:3000', true],
    ['account:globex', false],
    ['body:"a b"', true],
    ['-body:"a b"', false],
    ['body:a', false],
    ['since:10s', true],
    ['since:1s', false],
    ['since:1970-01-01', true],
    ['since:1970-01-01T00:16Z', true],
    ['since:1970-01-01T00:17+01:00', true],
    ['since:1970-01-01T00:17Z', false],
    ['type:contact.* code:500', false],
    ['http://localhost:3000/hooks', true],
    ['localhost:3000', true],
    ['"type:contact.created"', false],
    ['-"type:contact.created"', true],
    ['-', false],
    ['"contact.created"', true],
  ])('%j matches a row: %s', (query, isTaken) => {
    const { test, unknown } = readFilter(query, CONTEXT)
    expect([test(ROW), unknown]).toEqual([isTaken, []])
  })

  it.each([
    ['handled', 'handled', true],
    ['success', 'handled', true],
    ['delivered', 'handled', false],
    ['left', 'left', true],
    ['"left the inbox"', 'left', true],
    ['ignored,dropped', 'dropped', true],
    ['working', 'running', true],
    ['sending', 'resending', true],
    ['"in the inbox"', 'inbox', true],
    ['Delivered', 'delivered', true],
    ['failed', 'repaired', false],
    ['"failed, then handled by a copy"', 'repaired', true],
  ] as const)('status:%s finds an event whose outcome is %s: %s', (value, outcome, isTaken) => {
    const { test, unknown } = readFilter(`status:${value}`, { ...CONTEXT, outcomeOf: () => outcome })
    expect([test(ROW), unknown]).toEqual([isTaken, []])
  })

  it.each([
    ...['since:nonsense', 'since:', 'since:2025-99-01', 'since:2025-02-31', 'status:fail', '-status:fail', 'type:'],
    ...['status:failed,fail', 'code:401,', 'code:,'],
    ...['stats:failed', '-stats:failed', 'Status:failed'],
  ])('says that %s means nothing, and ignores it', (query) => {
    const { test, unknown } = readFilter(`${query} code:401`, CONTEXT)
    expect([test(ROW), unknown]).toEqual([true, [query]])
  })

  it('reads times in the zone of the machine, in which the page shows them, and writes them in UTC', () => {
    const isTaken = () => readFilter('since:1970-01-01T00:16:40', CONTEXT).test(ROW)
    vi.stubEnv('TZ', 'America/New_York')
    expect(isTaken()).toBe(false)
    vi.stubEnv('TZ', 'Asia/Tokyo')
    expect(isTaken()).toBe(true)
    expect(showExact('2025-01-31T14:30:00.000Z')).toBe('2025-01-31 23:30:00.000 +09:00')
    const query = '-since:2025-01-31 since:2025-01-31T14:30+01:00 since:1h since:2025-01-31T14:30'
    const named = '-since:2025-01-30T15:00Z since:2025-01-31T14:30+01:00 since:1h since:2025-01-31T05:30Z'
    expect([nameZones(query), nameZones(named)]).toEqual([named, named])
  })

  it('has one value of a key set, kept or removed', () => {
    const query = writeWord('free type:a.b code:401', 'type', 'with blanks')
    expect(query).toBe('free code:401 type:"with blanks"')
    expect(readWord(query, 'type')).toBe('with blanks')
    expect(writeWord(query, 'type', undefined)).toBe('free code:401')
    expect(writeWord('-status:failed free', 'status', 'failed')).toBe('free status:failed')
    expect(listTexts('body:"a b" free -body:c')).toEqual(['a b', 'c'])
  })

  it('accepts any text', () => {
    fc.assert(fc.property(fc.string(), (query) => typeof readFilter(query, CONTEXT).test(ROW) === 'boolean'))
  })
})

describe('times', () => {
  it('are shown in whole units', () => {
    expect([showAgo(0, 500), showAgo(0, 12_900), showAgo(0, 119_000)]).toEqual(['now', '12 s ago', '1 min ago'])
    expect([0, 50, 11_100, 330_000].map((at) => showIn(at, 0))).toEqual(['due', 'in 50 ms', 'in 12 s', 'in 5 min'])
  })
})

describe('bytes', () => {
  it('show invisible characters', () => {
    expect(showExactly('a\u202eb\u200b\ufeff\r\n\tc\u0000\u{e0041}')).toBe(
      'a\\u202eb\\u200b\\ufeff␍⏎\n→c\\u0000\\udb40\\udc41',
    )
  })
})

describe('a new event id', () => {
  it.each([
    ['{"id": "evt_1", "data": {"id": "evt_1"}}', '{"id": "new", "data": {"id": "evt_1"}}'],
    ['{"data":{"id":"x"},"id":"evt_1"}', '{"data":{"id":"x"},"id":"new"}'],
    ['{"id" :\n"a\\"b"}', '{"id" :\n"new"}'],
    ['{"note":"\\"id\\": \\"evt_1\\"","id":"evt_1"}', '{"note":"\\"id\\": \\"evt_1\\"","id":"new"}'],
    ['{"id":7}', '{"id":7}'],
    ['no JSON', 'no JSON'],
  ])('goes into %s', (body, expected) => {
    expect(replaceId(body, 'new')).toBe(expected)
  })
})

describe('pasted text', () => {
  const event = { id: 'evt_1', type: 'sync.failed', timestamp: 't', accountKey: 'acme', data: {} }
  it.each([
    ['a body', JSON.stringify(event), { text: JSON.stringify(event) }],
    ['a fixture', JSON.stringify({ headers: {}, bodyBase64: 'e30=' }), { base64: 'e30=' }],
    ['a recorded delivery', JSON.stringify({ headers: {}, body: '{}' }), { text: '{}' }],
    ['an entry of the log', JSON.stringify({ id: 'd1', state: 'failed', event }), { text: JSON.stringify(event) }],
    ['a list', '[]', undefined],
    ['no JSON', 'hello', undefined],
  ])('is read: %s', (_what, text, expected) => {
    expect(readPasted(text)).toEqual(expected)
  })
})

describe('a copied delivery', () => {
  const copyOf = (bytes: Buffer) => ({
    url: 'http://127.0.0.1:1/a?b=c&d=$(id)',
    eventId: 'evt_1',
    eventType: 'contact.created',
    body: { text: bytes.toString(), base64: bytes.toString('base64') },
    signatureHeader: 'X-Crm-Signature',
    sent: ['sha256=aa'],
    isRight: true,
    answer: 200 as const,
  })

  it('is a fixture that `postern verify` reads', async () => {
    const bytes = Buffer.from('{"a":"\u2028"}')
    const read = await readDelivery(toFixture(copyOf(bytes)), 'X-Crm-Signature', {} as never, {} as never) // neither is used for a line
    expect(read).toEqual({ body: bytes, header: 'sha256=aa' })
  })

  it('is a test without any invisible character', () => {
    const text = toVitest(copyOf(Buffer.from(`{"id":"a\u2028'\\"\u202e</script>"}`)))
    expect(text).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]/u)
  })
})
