import { describe, expect, it } from 'vitest'
import { isSamePlace, writePlace } from '../../tools/emulator/inspector/inbox-place.ts'

describe('the place of an inbox', () => {
  it.each([
    ['--sqlite /data/app.db', 'sqlite:/data/app.db'],
    ['--sqlite /data/app.db --table jobs', 'sqlite:/data/app.db?table=jobs'],
    ['--redis redis://h:1 --queue a --prefix b', 'redis://h:1?queue=a&prefix=b'],
    ['--postgres postgres://h/db?sslmode=no-verify --table t', 'postgres://h/db?sslmode=no-verify&table=t'],
  ])('%s is written as --inbox takes it', (place, expected) => {
    expect(writePlace(place.split(' '))).toBe(expected)
  })

  it.each([
    ['--sqlite /a', '--sqlite /a', true],
    ['--sqlite /a', '--sqlite /b', false],
    ['--sqlite /a', '--sqlite /a --table t', false],
    ['--sqlite /a', '--redis redis://localhost', false],
    ['--redis redis://localhost', '--redis redis://127.0.0.1:6379/0', true],
    ['--redis redis://localhost', '--redis redis://localhost/1', false],
    ['--redis redis://localhost', '--redis redis://localhost --queue jobs', false],
    ['--postgres postgres://u@localhost/app', '--postgres postgresql://[::1]:5432/app', true],
    ['--postgres postgres://localhost/app', '--postgres postgres://localhost/other', false],
    ['--postgres postgres://localhost/app', '--postgres postgres://localhost/app --schema s', undefined],
    ['--postgres postgres://…', '--postgres postgres://localhost/app', undefined],
  ])('%s and %s: the same is %s', (one, other, expected) => {
    expect(isSamePlace(one.split(' '), other.split(' '))).toBe(expected)
    expect(isSamePlace(other.split(' '), one.split(' '))).toBe(expected)
  })
})
