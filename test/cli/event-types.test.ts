import { describe, expect, it } from 'vitest'
import { mustBeType, readSubscribedTypes } from '../../tools/cli/input/event-types.ts'

const NAMED = 'The service names {model}.created, {model}.updated, {model}.deleted, finance.payment.completed'

describe('an event type', () => {
  it.each([
    'contact.created',
    'financeInvoice.updated',
    'finance.payment.failed',
    'invoice.created',
    'my_model2.updated',
    `${'x'.repeat(248)}.created`,
  ])('is accepted as the service may send it: %s', (type) => {
    expect(() => mustBeType(type, false)).not.toThrow()
  })

  it.each([
    ['contcat.created', 'Did you mean contact.created?'],
    ['Contact.created', 'Did you mean contact.created?'],
    ['oportunity.updated', 'Did you mean opportunity.updated?'],
    ['finance.payment.complted', 'Did you mean finance.payment.completed?'],
    ['invoice.paid', NAMED],
    ['2x.created', NAMED],
    ['../x.created', NAMED],
    ['hello', NAMED],
  ])('is refused unless the option says that any is meant: %s', (type, advice) => {
    const message = expect.stringContaining(`${JSON.stringify(type)} is not a type of the service. ${advice}`)
    expect(() => mustBeType(type, false)).toThrow(expect.objectContaining({ exitCode: 2, message }))
    expect(() => mustBeType(type, true)).not.toThrow()
  })

  it.each([true, false])('has 1 to 256 characters, whatever the option says: %s', (isAny) => {
    for (const type of ['', `${'x'.repeat(249)}.created`])
      expect(() => mustBeType(type, isAny)).toThrow('An event type has 1 to 256 characters.')
  })
})

describe('the types of a subscription', () => {
  it.each([
    ['contact.*', 'contact.created contact.updated contact.deleted'],
    ['finance.*', 'finance.payment.completed finance.payment.failed'],
    ['invoice.* sync.failed', 'invoice.created invoice.updated invoice.deleted sync.failed'],
    ['sync.failed sync.* sync.failed', 'sync.failed sync.completed'],
    ['invoice.paid', 'invoice.paid'],
  ])('are written out: %s', (names, types) => {
    expect(readSubscribedTypes(names.split(' '), false)).toEqual(types.split(' '))
  })

  it('are refused if one is probably misspelt', () => {
    expect(() => readSubscribedTypes(['sync.*', 'contcat.*'], false)).toThrow('Did you mean contact.created?')
    expect(readSubscribedTypes(['contcat.created'], true)).toEqual(['contcat.created'])
  })
})
