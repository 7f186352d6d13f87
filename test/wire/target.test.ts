import { expect, it } from 'vitest'
import { showTarget } from '../../tools/wire/target.ts'

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
