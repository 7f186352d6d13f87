import { expect, it } from 'vitest'
import { isLoopback, showTarget } from '../../src/wire/target.ts'

it.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['127.100.20.255', true],
  ['[::1]', true],
  ['notlocalhost', false],
  ['localhost.example.test', false],
  ['127.0.0.1.example.test', false],
  ['128.0.0.1', false],
  ['[::2]', false],
])('the host %s is this machine: %s', (host, isOwn) => {
  expect(isLoopback(new URL(`http://${host}/`))).toBe(isOwn)
})

it.each([
  ['http://127.0.0.1:3000/hooks', 'http://127.0.0.1:3000/hooks'],
  ['https://user:secret@host.test/hooks', 'https://xxx:xxx@host.test/hooks'],
  ['https://secret@host.test/', 'https://xxx@host.test/'],
  ['https://:secret@host.test/', 'https://:xxx@host.test/'],
  ['https://host.test/?key=secret&key=secret&other=secret', 'https://host.test/?key=xxx&other=xxx'],
])('the URL %s is shown as %s', (url, shown) => {
  const target = new URL(url)
  expect(showTarget(target)).toBe(shown)
  expect(target.href).toBe(url)
})
