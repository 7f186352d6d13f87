import { sign } from 'postern'
import { describe, expect, it } from 'vitest'
import { checkHead, declaredLength } from '../../src/protocol/head.ts'
import type { HeaderValue } from '../../src/protocol/signature.ts'

const GOOD = sign('{}', 'secret')
const LIMIT = 1_000

function headOf(headers: Readonly<Record<string, HeaderValue>>, method?: string) {
  const all: Readonly<Record<string, HeaderValue>> = { 'x-service-signature': GOOD, ...headers }
  return { method, header: (name: string) => (Object.hasOwn(all, name) ? all[name] : undefined) }
}

const codeOf = (headers: Readonly<Record<string, HeaderValue>>, method?: string) =>
  checkHead(headOf(headers, method), LIMIT)?.code

describe('checkHead', () => {
  it.each(['GET', 'post', '', 'constructor'])('refuses the method %j', (method) =>
    expect(codeOf({}, method)).toBe('method_not_allowed'),
  )

  it.each<[HeaderValue, string | undefined]>([
    [undefined, undefined],
    [null, undefined],
    ['', undefined],
    ['identity', undefined],
    ['Identity', undefined],
    ['gzip, identity', 'unsupported_encoding'],
    [['identity', 'gzip'], 'unsupported_encoding'],
    ['constructor', 'unsupported_encoding'],
  ])('answers a content encoding of %j with %s', (encoding, code) =>
    expect(codeOf({ 'content-encoding': encoding })).toBe(code),
  )

  it.each<[HeaderValue, string | undefined]>([
    ['1000', undefined],
    ['0001000', undefined],
    ['1001', 'body_too_large'],
    ['9'.repeat(40), 'body_too_large'],
    ['-1', undefined],
    ['1e9', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('answers a declared length of %j with %s', (length, code) =>
    expect(codeOf({ 'content-length': length })).toBe(code),
  )
})

describe('declaredLength', () => {
  it('is a number, or undefined if nothing can be read as one', () => {
    expect(declaredLength(headOf({ 'content-length': '42' }))).toBe(42)
    for (const value of ['+1', '1,1', ' 1', '1 ', '٣', undefined, null, ['1', '1'], ['42']])
      expect(declaredLength(headOf({ 'content-length': value }))).toBeUndefined()
  })
})
