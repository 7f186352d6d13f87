import { describe, expect, it } from 'vitest'
import type { DeliveryChanges } from '../../tools/check/case.ts'
import { createMaker } from '../../tools/check/maker.ts'
import { toCurl } from '../../tools/check/repro.ts'
import { SECRET } from './faulty/hand-written.ts'

describe('the line of a delivery', () => {
  const make = createMaker({ secret: SECRET, accountKey: 'acme' })
  const TARGET = "http://127.0.0.1/it's"

  it.each<readonly [what: string, changes: DeliveryChanges, header: RegExp]>([
    ['no signature', { signature: () => undefined }, /'Content-Type: application\/json' --data-binary /],
    ['one of another name', { signatureName: 'x-y' }, / -H "x-y: \$\(printf /],
  ])('has %s', (_what, changes, header) => {
    expect(toCurl(TARGET, make.delivery('{}', changes))).toMatch(header)
  })

  it.each<readonly [what: string, body: string | Uint8Array, changes: DeliveryChanges]>([
    ['two signatures', '{}', { signature: (right) => [right, right] }],
    ['a wrong signature', '{}', { signature: () => 'x' }],
    ['no body', '', {}],
    ['a body that is no text', Buffer.of(0x22, 0xff, 0x22), {}],
    ['a body with a control character', '"\t"', {}],
    ['a large body', 'x'.repeat(2_001), {}],
    ['parts', '{}', { toParts: async function* () {} }],
    ['no declared length', '{}', { isChunked: true }],
  ])('is missing for a delivery with %s', (_what, body, changes) => {
    expect(toCurl(TARGET, make.delivery(body, changes))).toBeUndefined()
  })
})
