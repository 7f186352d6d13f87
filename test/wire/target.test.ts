import { expect, it } from 'vitest'
import { formatJson } from '../../src/wire/json-forms.ts'
import { isLoopback } from '../../src/wire/target.ts'

it.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['[::1]', true],
  ['notlocalhost', false],
  ['localhost.example.test', false],
  ['127.0.0.1.example.test', false],
  ['128.0.0.1', false],
])('the host %s is this machine: %s', (host, isOwn) => {
  expect(isLoopback(new URL(`http://${host}/`))).toBe(isOwn)
})

it('JSON at random never has the form of JSON.stringify, no matter how little there is to vary', () => {
  const written = Array.from({ length: 200 }, (_, seed) => formatJson({}, 'random', seed))
  expect(written).not.toContain('{}')
})
