import { describe, expect, it } from 'vitest'
import { SERVICE_EVENT_TYPES } from '../../src/protocol/events.ts'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { checkSubscription, isSubscribed } from '../../tools/emulator/subscription.ts'
import { refusal } from './support.ts'

/** The stored types and the warnings of a subscription. */
function subscribe(types: readonly string[], assume: Readonly<Record<string, string>> = {}) {
  const warnings: string[] = []
  const stored = checkSubscription(types, assumeAll('default', assume), (message) => warnings.push(message))
  return { stored, warnings }
}

describe('a subscription', () => {
  it.each([...SERVICE_EVENT_TYPES, 'contact.created', 'm.updated', 'financeInvoice2.deleted', 'a_b.created'])(
    'to %s, which the service sends, is stored without a warning',
    (type) => {
      expect(subscribe([type], { A27: 'refused' })).toEqual({ stored: [type], warnings: [] })
    },
  )

  it.each(['invoice.paid', 'a.b.c', 'Contact_2.renamed'])(
    'to %s, of which the service says nothing, is stored with a warning, or refused (A27)',
    (type) => {
      expect(subscribe([type])).toEqual({ stored: [type], warnings: [expect.stringContaining(`"${type}"`)] })
      expect(subscribe([type]).warnings[0]).toContain('(A27)')
      expect(() => subscribe([type], { A27: 'refused' })).toThrow(refusal('invalid', JSON.stringify(type)))
    },
  )

  it.each(['*', 'contact.*', '*.deleted', 'm2.*', '*.b_2'])(
    'to %s is stored with a warning that no type equals it, or without one if it is matched (A28)',
    (type) => {
      const { stored, warnings } = subscribe([type], { A27: 'refused' })
      expect([stored, warnings]).toEqual([[type], [expect.stringContaining(`does not take "${type}" as a pattern`)]])
      expect(subscribe([type], { A28: 'matched' })).toEqual({ stored: [type], warnings: [] })
    },
  )

  it.each([
    ...['', 'contact', 'contact.', '.created', 'in voice.paid', '1a.b', 'a-b.c', 'contact.created\n'],
    ...['**', '*.*', 'contact.*.x', 'x*.created', '* '],
  ])('to %j is refused', (type) => {
    expect(() => subscribe([type])).toThrow(refusal('invalid', 'is no type of event'))
    expect(() => subscribe(['contact.created', type])).toThrow(refusal('invalid', JSON.stringify(type)))
  })

  it('stores each type once, in the order in which they were named', () => {
    const types = ['b.created', 'a.created', 'b.created', 'x.y', 'x.y']
    expect(subscribe(types)).toEqual({ stored: ['b.created', 'a.created', 'x.y'], warnings: [expect.any(String)] })
  })

  it('to nothing is refused, or stored (A29)', () => {
    expect(() => subscribe([])).toThrow(refusal('invalid', 'at least'))
    expect(subscribe([], { A29: 'accepted' })).toEqual({ stored: [], warnings: [] })
  })
})

describe('an event', () => {
  it.each<[pattern: string, type: string, isMatched: boolean]>([
    ['*', 'contact.created', true],
    ['contact.*', 'contact.created', true],
    ['contact.*', 'contacts.created', false],
    ['*.created', 'contact.created', true],
    ['*.created', 'contact.created.twice', false],
    ['a.created', 'a.created', true],
  ])('is of the subscription to %s if it is %s: %s, if patterns are matched', (pattern, type, isMatched) => {
    expect(isSubscribed([pattern], type, 'matched')).toBe(isMatched)
    expect(isSubscribed(['other.created', pattern], type, 'matched')).toBe(isMatched)
    expect(isSubscribed([pattern], type, 'literal')).toBe(pattern === type)
  })
})
