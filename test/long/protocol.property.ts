import fc from 'fast-check'
import { memoryStore, sign, verify } from 'postern'
import { describe, expect, it } from 'vitest'
import { dedupKey } from '../../src/protocol/dedup-key.ts'
import { isObject, parseEnvelope } from '../../src/protocol/envelope.ts'
import { Rejection } from '../../src/protocol/outcome.ts'
import { compareByHand, steps } from '../store/store-steps.ts'
import { tryForAMinute } from './for-a-minute.ts'

const BODY = Buffer.from('{"id":"evt_1"}')
const SECRET = 'whsec_long'
const GOOD = sign(BODY, SECRET)

const character = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  fc.constantFrom(...'0fFgGsS=, \r\n\0'),
)

/** The valid signature after some changes: letters in the other case, characters inserted, removed or replaced. */
const changedHeader = fc
  .array(
    fc.record({
      kind: fc.constantFrom('case', 'insert', 'remove', 'replace'),
      at: fc.nat({ max: GOOD.length }),
      character,
    }),
    { maxLength: 4 },
  )
  .map((changes) => {
    const units = [...GOOD]
    for (const { kind, at, character } of changes) {
      const old = units[at] ?? ''
      if (kind === 'case') units.splice(at, 1, old === old.toLowerCase() ? old.toUpperCase() : old.toLowerCase())
      else if (kind === 'insert') units.splice(at, 0, character)
      else units.splice(at, 1, ...(kind === 'replace' ? [character] : []))
    }
    return units.join('')
  })

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }),
  fc.json().map((text) => Buffer.from(text)),
)

describe('for a minute', { concurrent: false }, () => {
  it('header grammar', () =>
    tryForAMinute(
      'header grammar',
      fc.property(fc.oneof(changedHeader, fc.string({ unit: 'binary' })), fc.nat({ max: 2 }), (header, copies) => {
        const isRight = /^sha256=[0-9a-f]{64}$/i.test(header) && header.startsWith('sha256=')
        const expected = isRight && header.toLowerCase() === GOOD
        expect(verify(BODY, header, SECRET)).toBe(expected)
        expect(verify(BODY, Array(copies).fill(header), SECRET)).toBe(expected && copies === 1)
      }),
    ))

  it('body flips', () => {
    const change = fc.record({ at: fc.nat(), xor: fc.integer({ min: 1, max: 255 }), kind: fc.nat({ max: 2 }) })
    return tryForAMinute(
      'body flips',
      fc.property(bytes, fc.array(change, { maxLength: 3 }), (body, changes) => {
        const changed = [...body]
        for (const { at, xor, kind } of changes) {
          const place = at % (changed.length + 1)
          if (kind === 0 && place < changed.length) changed[place] = (changed[place] ?? 0) ^ xor
          else if (kind === 1) changed.splice(place, 0, xor)
          else changed.splice(place, 1)
        }
        const isSame = Buffer.compare(body, Uint8Array.from(changed)) === 0
        expect(verify(Uint8Array.from(changed), sign(body, SECRET), SECRET)).toBe(isSame)
      }),
    )
  })

  it('envelopes', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.integer({ min: 250, max: 260 }).map((length) => 'x'.repeat(length)),
      fc.integer({ min: 1_020, max: 1_030 }).map((length) => 'é'.repeat(length)),
    )
    const field = fc.oneof({ weight: 5, arbitrary: text }, { weight: 1, arbitrary: fc.jsonValue() })
    const data = fc.oneof(fc.constantFrom(undefined, null), fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue())
    const envelope = fc.record(
      { id: field, type: field, timestamp: field, accountKey: field, data, further: fc.jsonValue() },
      { requiredKeys: [] },
    )
    const isText = (value: unknown, most: number) =>
      typeof value === 'string' && value.length > 0 && value.length <= most
    return tryForAMinute(
      'envelopes',
      fc.property(fc.oneof(envelope, fc.jsonValue(), bytes), (value) => {
        const body = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value))
        const parsed = parseEnvelope(body)
        const result = parsed instanceof Rejection ? parsed : parsed.event
        let written: Partial<Record<string, unknown>> | string | number | boolean | null
        try {
          written = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
        } catch {
          expect(result).toBeInstanceOf(Rejection)
          return
        }
        if (
          isObject(written) &&
          isText(written.id, 1_024) &&
          isText(written.type, 256) &&
          typeof written.timestamp === 'string' &&
          isText(written.accountKey, 256) &&
          (written.data == null || isObject(written.data))
        )
          expect(result).toEqual({ ...written, data: written.data ?? {} })
        else expect(result).toMatchObject({ code: 'invalid_envelope' })
      }),
    )
  })

  it('keys of events', () => {
    const part = fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.stringMatching(/^[0-9:#]{0,6}$/))
    const triple = fc.tuple(part, part, part)
    return tryForAMinute(
      'keys of events: no two meet',
      fc.property(triple, triple, ([name, account, id], [otherName, otherAccount, otherId]) => {
        const isSame = name === otherName && account === otherAccount && id === otherId
        const key = dedupKey(name, account, id)
        expect(key === dedupKey(otherName, otherAccount, otherId)).toBe(isSame)
        expect(key).toMatch(/^[\x21-\x7e]{1,400}$/)
      }),
    )
  })

  it('rotation sets', () => {
    const secret = fc.oneof(
      fc.stringMatching(/^[a-z][!-~]{0,39}$/),
      fc.uint8Array({ minLength: 1, maxLength: 70 }).map((key) => Buffer.concat([key, Buffer.of(0)])),
    )
    return tryForAMinute(
      'rotation sets',
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 6 }),
        secret,
        fc.boolean(),
        bytes,
        (set, other, isOne, body) => {
          const signer = isOne ? (set[body.length % set.length] ?? other) : other
          // HMAC pads a short key with NULs: keys that differ only in those are the same.
          const toKey = (key: string | Uint8Array) => Buffer.from(key).toString('latin1').replace(/\0+$/, '')
          const isMember = set.some((member) => toKey(member) === toKey(signer))
          expect(verify(body, sign(body, signer), set)).toBe(isMember)
        },
      ),
    )
  })

  it('the memory store against its model', () =>
    tryForAMinute(
      'the memory store against its model',
      fc.asyncProperty(steps, async (taken) => {
        const clock = {
          time: 0,
          monotonic() {
            return this.time
          },
        }
        const pass = (ms: number) => {
          clock.time += ms
        }
        await compareByHand(memoryStore({ clock, max: 100 }), pass, taken)
      }),
    ))
})
