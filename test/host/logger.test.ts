import { consoleLogger, PosternError } from 'postern'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const printed = { warn: vi.fn(), error: vi.fn(), log: vi.fn(), info: vi.fn(), debug: vi.fn() }

beforeEach(() => {
  for (const [method, spy] of Object.entries(printed)) {
    spy.mockReset()
    vi.spyOn(console, method as keyof typeof printed).mockImplementation(spy) // its own keys
  }
})
afterEach(() => vi.restoreAllMocks())

describe('consoleLogger', () => {
  it('prints nothing of debug and info', () => {
    consoleLogger.debug({ id: 'evt_1' }, 'handled')
    consoleLogger.info({ id: 'evt_1' }, 'handled')
    for (const spy of Object.values(printed)) expect(spy).not.toHaveBeenCalled()
  })

  it('prints warnings in one line, with their fields as JSON', () => {
    consoleLogger.warn({ status: 401, id: undefined, code: 'signature_mismatch' }, 'delivery refused')
    expect(printed.warn.mock.calls).toEqual([['postern: delivery refused {"status":401,"code":"signature_mismatch"}']])
  })

  it('prints errors without an error in one line', () => {
    consoleLogger.error({ code: 'store_unavailable' }, 'the store is gone')
    expect(printed.error.mock.calls).toEqual([['postern: the store is gone {"code":"store_unavailable"}']])
  })

  it('prints the message of an error once, then where it came from, then its cause', () => {
    const cause = new Error('disk full')
    const err = new PosternError('store_unavailable', 'the store\nis (gone)', { cause })
    consoleLogger.error({ code: err.code, err }, err.message)
    const [line, frames, ...rest] = printed.error.mock.calls[0] ?? []
    expect(line).toBe('postern: the store\\u000ais (gone) {"code":"store_unavailable"}')
    expect(frames).toMatch(/^\n\s+at .*logger\.test\.ts/)
    expect(frames).not.toContain('gone')
    expect(rest).toEqual(['\n  caused by:', cause])
  })

  it.each([new Error('another'), 'a string', null, 0, { code: 'E' }])('prints %j as it is beside the line', (err) => {
    consoleLogger.error({ err }, 'failed')
    expect(printed.error.mock.calls).toEqual([['postern: failed {}', err]])
  })

  it('takes an error without a stack', () => {
    const err = Object.assign(new Error('failed'), { stack: undefined })
    expect(() => consoleLogger.error({ err }, 'failed')).not.toThrow()
  })

  it.each(['\n', '\r', '\u001b[2J', '\u0000', '\u007f', '\u009b31m', '\u2028', '\u2029'])(
    'escapes %j in fields and message, where a terminal would act on it',
    (text) => {
      consoleLogger.warn({ id: `a${text}b` }, `type "c${text}d"`)
      const [line] = printed.warn.mock.calls[0] ?? []
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
      expect(line).toMatch(/^postern: type "c\\u.*d" \{"id":"a\\.*b"\}$/)
    },
  )

  it('leaves other characters as they are', () => {
    consoleLogger.warn({ id: 'žluť 🐎 \ud800' }, 'kůň')
    expect(printed.warn.mock.calls).toEqual([['postern: kůň {"id":"žluť 🐎 \\ud800"}']])
  })
})
