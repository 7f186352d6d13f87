import { describe, expect, it } from 'vitest'
import type { DeliveryChanges } from '../../tools/check/case.ts'
import { CASES } from '../../tools/check/cases.ts'
import { toCommand, toCurl } from '../../tools/check/check-receiver.ts'
import { createMaker } from '../../tools/check/maker.ts'
import { SECRET } from './faulty/hand-written.ts'

describe('the line of a delivery', () => {
  const make = createMaker({ secret: SECRET, accountKey: 'acme' })
  const TARGET = "http://127.0.0.1/it's"

  it('is a POST of the same body, with a signature that is made when it runs', () => {
    const line = `curl -i 'http://127.0.0.1/it'\\''s' -H 'Content-Type: text/plain' -H "X-Service-Signature: $(printf %s '{"a": "ë"}' | npx postern sign)" --data-binary '{"a": "ë"}'`
    expect(toCurl(TARGET, make.delivery('{"a": "ë"}', { contentType: 'text/plain' }))).toBe(line)
  })

  it('is a GET without anything else', () => {
    expect(toCurl(TARGET, make.delivery('', { method: 'GET' }))).toBe("curl -i 'http://127.0.0.1/it'\\''s'")
  })

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
    ['pieces', '{}', { pieceSize: 7 }],
    ['no declared length', '{}', { isChunked: true }],
  ])('is missing for a delivery with %s', (_what, body, changes) => {
    expect(toCurl(TARGET, make.delivery(body, changes))).toBeUndefined()
  })

  it('has a body of several lines, and of some length', () => {
    for (const body of ['{\n}\n', 'x'.repeat(2_000)])
      expect(toCurl(TARGET, make.delivery(body))).toContain(` --data-binary '${body}'`)
  })

  it('runs the check alone, with a probe if it needs one', () => {
    const commandOf = (id: string) => CASES.filter((each) => each.id === id).map((each) => toCommand(TARGET, each))
    expect(commandOf('burst')).toEqual(["npx postern check 'http://127.0.0.1/it'\\''s' --only burst"])
    expect(commandOf('effect-once')[0]).toMatch(/ --only effect-once --probe URL$/)
  })
})
