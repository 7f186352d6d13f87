import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ACTIONS, SERVICE_EVENT_TYPES, splitType } from '../../src/protocol/events.ts'
import { runs } from '../support/runs.ts'

describe('splitType', () => {
  it.each([
    ['contact.created', 'contact', 'created'],
    ['financeInvoice.updated', 'financeInvoice', 'updated'],
    ['x.deleted', 'x', 'deleted'],
    ['__proto__.created', '__proto__', 'created'],
    ['constructor.updated', 'constructor', 'updated'],
    ['žluťoučký 🐎.deleted', 'žluťoučký 🐎', 'deleted'],
    ['created.created', 'created', 'created'],
  ])('treats %s as an event about a record', (type, model, action) => {
    expect(splitType(type)).toEqual({ model, action })
  })

  it.each([
    '',
    '.',
    'created',
    '.created',
    'contact',
    'contact.',
    'contact.*',
    'contact.Created',
    'contact.created ',
    'contact.created.',
    'contact..created',
    'a.b.c.created',
    'contact.constructor',
    'contact.toString',
    'contact.__proto__',
    'invoice.paid',
    '*',
    'error',
    'constructor',
    ...SERVICE_EVENT_TYPES,
  ])('treats %j as an event of another kind', (type) => expect(splitType(type)).toBeUndefined())

  it('is undone by joining model and action', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), fc.constantFrom(...ACTIONS), (text, action) => {
        const split = splitType(`${text}.${action}`)
        if (text.includes('.')) expect(split).toBeUndefined()
        else expect(split).toEqual({ model: text, action })
      }),
      runs(200),
    )
  })
})
