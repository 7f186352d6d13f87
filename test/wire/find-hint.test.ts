import { expect, it } from 'vitest'
import { findHint } from '../../tools/wire/find-hint.ts'

const target = new URL('http://user:secret@127.0.0.1:3000/hooks?key=secret')
const URL_IN_HINTS = 'http://xxx:xxx@127.0.0.1:3000/hooks?key=xxx'

it.each(['301', '302', '303', '307', '308'])('advises on a redirect by %s', (result) => {
  expect(findHint(result, target)).toMatch(new RegExp(`^${result}: the service does not follow redirects`))
})

it.each(['401', '413', '415', '429', 'reset', 'timeout'])('advises on %s', (result) => {
  expect(findHint(result, target)).toMatch(new RegExp(`^${result}: [a-z]`))
})

it.each(['404', '405', 'refused', 'dns', 'tls'])('advises on %s, with the URL but without its secrets', (result) => {
  expect(findHint(result, target)).toContain(URL_IN_HINTS)
})

it.each(['200', '500', '300', '304', '399', '1301', '3012', '3x1', '30x', 'toString', ''])(
  'has no advice on %j',
  (result) => {
    expect(findHint(result, target)).toBeUndefined()
  },
)

it('advises https for a connection that was cut, unless it is https', () => {
  expect(findHint('reset', target)).toMatch(/If it speaks TLS, its URL begins with https\.$/)
  expect(findHint('reset', new URL('https://127.0.0.1:3000/hooks'))).not.toContain('TLS')
})

it('names the limit that is in force', () => {
  expect(findHint('timeout', target)).toContain('within 10 s')
  expect(findHint('timeout', target, 2_500)).toContain('within 2.5 s')
})
