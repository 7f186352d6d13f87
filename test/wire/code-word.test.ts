import { expect, it } from 'vitest'
import { readCode } from '../../tools/wire/code-word.ts'

it.each([
  '{"code":"handled","id":"evt_1"}',
  ' \r\n { \t "code" \n : \n "handled" }',
  '{"code":"handled","id":"evt_', // cut off
])('readCode finds the code word of %j', (body) => {
  expect(readCode(body)).toBe('handled')
})

it('readCode finds a code word of 40 characters, and none that is longer', () => {
  expect(readCode(`{"code":"${'a'.repeat(40)}"}`)).toBe('a'.repeat(40))
  expect(readCode(`{"code":"${'a'.repeat(41)}"}`)).toBeNull()
})

it.each([
  '',
  '{"code":""}',
  '{"code":200}',
  '{"code":"two words"}',
  '{"id":"evt_1","code":"handled"}',
  '[{"code":"handled"}]',
  '<p>{"code":"handled"}</p>',
])('readCode finds no code word in %j', (body) => {
  expect(readCode(body)).toBeNull()
})
