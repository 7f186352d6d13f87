import { expect, it } from 'vitest'
import { isLoopback } from '../../src/protocol/loopback.ts'

it.each([
  ['localhost', true],
  ['app.localhost', true],
  ['127.0.0.1', true],
  ['127.100.20.255', true],
  ['[::1]', true],
  ['notlocalhost', false],
  ['localhost.example.test', false],
  ['127.0.0.1.example.test', false],
  ['128.0.0.1', false],
])('finds out if the host %s is this machine: %s', (host, isOwn) => {
  expect(isLoopback(new URL(`http://${host}/`))).toBe(isOwn)
})
