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

  it.each([
    ['a "contact" that is not found', 'a "[redacted]" that is not found'],
    ['there is no such contact', undefined],
    ['contact: not found. Contact us, or the contacts page', undefined],
    ['POST /api/sales/contact/7 and contact_id', undefined],
    ['{"password":"contact","message":"no contact"}', '{"password":"[redacted]","message":"no contact"}'],
    [JSON.stringify(JSON.stringify({ sent: 'contact' })), JSON.stringify(JSON.stringify({ sent: '[redacted]' }))],
    ['?user=ada&password=contact&x=1', '?user=ada&password=[redacted]&x=1'],
    ['https://ada:contact@crm.test', 'https://ada:[redacted]@crm.test'],
    ['Password: contact', 'Password: [redacted]'],
    ["userPassword = 'contact'", "userPassword = '[redacted]'"],
    [' contact\n', ' [redacted]\n'],
  ])('removes a password that is a word only if it stands as a value: %j', (text, clean = text) => {
    expect(knowing('contact').redact(text)).toBe(clean)
  })

  it.each(['200', 'Welcome', 'SECRET'])('keeps sentences with the word %s', (word) => {
    const text = `the status was ${word}, and ${word} again`
    expect(knowing(word).redact(`${text} "${word}"`)).toBe(`${text} "[redacted]"`)
  })

  it.each(['Welc0me', 'trustNo', 'x-y', 'correcthorsebattery'])('removes %s everywhere, which is no word', (secret) => {
    expect(knowing(secret).redact(`no ${secret}s`)).toBe('no [redacted]s')
  })

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
})
