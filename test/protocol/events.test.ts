import { describe, expect, it } from 'vitest'
import { SERVICE_EVENT_TYPES, splitType } from '../../src/protocol/events.ts'

describe('splitType', () => {
  it.each([
    ['contact.created', 'contact', 'created'],
    ['x.deleted', 'x', 'deleted'],
    ['__proto__.created', '__proto__', 'created'],
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
    'contact.created.',
    'a.b.c.created',
    'contact.constructor',
    'invoice.paid',
    '*',
    ...SERVICE_EVENT_TYPES,
  ])('treats %j as an event of another kind', (type) => expect(splitType(type)).toBeUndefined())
})
