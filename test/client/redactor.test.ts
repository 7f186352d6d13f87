import { describe, expect, it } from 'vitest'
import { Redactor } from '../../src/client/redactor.ts'

/** Makes a redactor with these secrets. */
function knowing(...secrets: readonly string[]): Redactor {
  const redactor = new Redactor()
  for (const secret of secrets) redactor.add(secret)
  return redactor
}

describe('the redactor', () => {
  it('removes a secret in its plain form, in JSON, and in a URL', () => {
    const secret = 'a "b" & c/ü'
    const text = `${secret} ${JSON.stringify({ secret })} ?p=${encodeURIComponent(secret)}.`
    expect(knowing(secret).redact(text)).toBe('[redacted] {"secret":"[redacted]"} ?p=[redacted].')
  })

  it.each(['a "b" c', 'a\\b', 'c\\"', 'ends with \\', '\\\\server\\"a"'])(
    'removes a secret from JSON in a text of JSON: %s',
    (secret) => {
      const write = (password: string) => JSON.stringify({ message: `refused: ${JSON.stringify({ password })}` })
      expect(knowing(secret).redact(write(secret))).toBe(write('[redacted]'))
    },
  )

  it('removes text that looks like a token, even if it was not passed', () => {
    expect(knowing().redact('Bearer eyJhbGciOi.eyJzdWIi.c2ln-_ and more')).toBe('Bearer [redacted] and more')
    expect(knowing().redact('monkeyJack.b.c')).toBe('monkeyJack.b.c')
  })

  it('remembers the first secret, which is the password, and the last sixteen', () => {
    const tokens = Array.from({ length: 40 }, (_, index) => `token-${String(index).padStart(2, '0')}`)
    const redactor = knowing('password', ...tokens)
    expect(redactor.redact('password')).toBe('[redacted]')
    expect(tokens.filter((token) => redactor.redact(token) === '[redacted]')).toEqual(tokens.slice(-16))
  })

  it('counts a secret once, and ignores an empty one', () => {
    const redactor = knowing('password', 'first', ...Array(40).fill('second'), '')
    expect(redactor.redact('password first second')).toBe('[redacted] [redacted] [redacted]')
    expect(redactor.redact('ab')).toBe('ab')
  })

  it('keeps message and code of an error and its causes, and nothing else', () => {
    const cause = Object.assign(new Error('connect secret'), { code: 'ECONNREFUSED', request: 'secret' })
    const clean = knowing('secret').redactError(new Error('fetch failed', { cause }))
    expect([clean.message, Reflect.get(clean, 'code')]).toEqual(['fetch failed: connect [redacted]', 'ECONNREFUSED'])
    expect(Object.keys(clean)).toEqual(['code'])
    expect(clean.cause).toBeUndefined()
  })

  it('has a text for an error without a message, and for other values', () => {
    const redactor = knowing()
    expect(redactor.redactError(new TypeError('')).message).toBe('TypeError')
    expect(redactor.redactError(Object.assign(new Error(''), { code: 'EPIPE' })).message).toBe('EPIPE')
    expect(redactor.redactError('text').message).toBe('something that is not an error was thrown')
    expect(Object.keys(redactor.redactError(new Error('plain')))).toEqual([])
  })
})
