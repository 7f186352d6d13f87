import { describe, expect, it } from 'vitest'
import { collectTypes, isOfTypes, readSince } from '../../tools/cli/input/delivery-filter.ts'
import { ended } from './run-cli.ts'
import { serve } from './serve.ts'

describe('the types of a filter', () => {
  it.each([
    [undefined, 'contact.created', true],
    [['contact.created'], 'contact.created', true],
    [['contact.created'], 'xcontact.created', false],
    [['contact.*'], 'contact.x.y', true],
    [['*.deleted'], 'a.b.deleted', true],
    [['*'], undefined, true],
    [['a*b*c'], 'a1b2c', true],
    [['a+(b)'], 'aab', false],
  ])('%j let %j through: %s', (types, eventType, isThrough) => {
    expect(isOfTypes(types)({ eventType })).toBe(isThrough)
  })

  it.each(['cont*.created', 'contcat*', '*.craeted', 'co*.*'])('with a * elsewhere are meant: %s', (type) => {
    expect(collectTypes(type)).toEqual([type])
  })
})

it.each([
  ['*.delete', '*.deleted'],
  ['*.create', '*.created'],
  ['*.Updated', '*.updated'],
  ['*:deleted', '*.deleted'],
  ['contact:*', 'contact.*'],
  ['contacts/*', 'contact.*'],
  ['contact/created', 'contact.created'],
  ['contact_deleted', 'contact.deleted'],
  ['deleted.contact', 'contact.deleted'],
  ['deleted', '*.deleted'],
  ['payment.failed', 'finance.payment.failed'],
])('a filter by %s means %s', (type, meant) => {
  expect(() => collectTypes(type)).toThrow(`Did you mean ${meant}? If it is intended, write ${type}*.`)
})

it.each([
  ['payment.*', 'finance.payment.*', 'payment*'],
  ['deleted.*', '*.deleted', 'deleted*'],
])('a filter by %s means %s', (type, meant, intended) => {
  expect(() => collectTypes(type)).toThrow(`Did you mean ${meant}? If it is intended, write ${intended}.`)
})

it.each([
  'orders/create',
  'orders/*',
  'jira:issue_created',
  'payment_intent.succeeded',
  'check_run.created',
  'check_run.*',
  'com.example.v1',
  'größe.created',
])('a filter accepts a type of another sender: %s', (type) => {
  expect(collectTypes(type)).toEqual([type])
})

it.each([
  ['', 'One of the types is empty. Is its variable set?'],
  ['contact.created,', 'One of the types is empty.'],
  ['contact.created contact.updated', 'No type has a blank in it. Write types with commas between them'],
  ['contact.created;contact.updated', 'No type has ; in it.'],
  ['"contact.created"', 'No type has " in it.'],
  ['contact\\.created', 'No type has \\ in it.'],
  ['contact.create?', 'No type has ? in it.'],
  ['^contact', 'No type has ^ in it.'],
])('a filter by %j is refused', (type, told) => {
  expect(() => collectTypes(type)).toThrow(told)
})

describe('a point in time', () => {
  it.each([
    ['2025-01-31', '2025-01-31T00:00:00.000Z'],
    ['2024-02-29T12:30:00Z', '2024-02-29T12:30:00.000Z'],
    ['2025-01-31T12:00:00+02:00', '2025-01-31T10:00:00.000Z'],
  ])('is a date: %s', (text, iso) => {
    expect(readSince(text).toISOString()).toBe(iso)
  })

  it('is so long ago', () => {
    const since = readSince('24h').getTime() // read before the time is taken
    const age = Date.now() - since
    expect(age).toBeGreaterThanOrEqual(86_400_000)
    expect(age).toBeLessThan(86_410_000)
  })

  it.each(['yesterday', '', '2026-02-30', '2025-02-29T12:00:00Z', '2026-11-31', '2026-13-01'])(
    'is none: %j',
    (text) => {
      expect(() => readSince(text)).toThrow('It must be a duration, 24h or 7d, or a date')
    },
  )
})

it('ends commands that filter by a misspelt type or a time to come, since they would find nothing', async () => {
  const { run, create } = await serve()
  const lists = [`deliveries list ${create().id}`, 'replay --webhook w1']
  for (const list of lists) expect(await run(`${list} --since 2999-01-01`)).toEqual(ended(2, 'is in the future'))
  const advice = 'Did you mean contact.*? If it is intended, write contacts*.'
  for (const list of [...lists, 'inbox replay --all --sqlite /nowhere/app.db'])
    expect(await run(`${list} --type sync.failed,contacts.*`)).toEqual(ended(2, advice))
})
