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

  it('prints nothing behind a message without fields', () => {
    consoleLogger.warn({}, 'for one process')
    consoleLogger.warn({ id: undefined }, 'for one process')
    expect(printed.warn.mock.calls).toEqual([['postern: for one process'], ['postern: for one process']])
  })

  it('prints errors without an error in one line', () => {
    consoleLogger.error({ code: 'store_unavailable' }, 'the store is gone')
    expect(printed.error.mock.calls).toEqual([['postern: the store is gone {"code":"store_unavailable"}']])
  })

  /** Returns all output of one call, as one text. */
  function printedText(): string {
    expect(printed.error).toHaveBeenCalledTimes(1)
    const parts: unknown[] = printed.error.mock.calls[0] ?? []
    expect(parts).toHaveLength(1)
    return String(parts[0])
  }

  it('prints the message of an error once, then its cause with its stack and fields', () => {
    const cause = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
    const err = new PosternError('store_unavailable', 'the store\nis (gone)', { cause })
    consoleLogger.error({ code: err.code, err }, err.message)
    const [line, ...rest] = printedText().split('\n')
    expect(line).toBe('postern: the store\\u000ais (gone) {"code":"store_unavailable"}')
    expect(rest.join('\n')).not.toContain('gone')
    expect(rest[0]).toBe('  caused by: Error: disk full')
    expect(rest[1]).toMatch(/^\s+at .*logger\.test\.ts/)
    expect(rest.at(-2)).toBe("    code: 'ENOSPC'")
  })

  it('prints the stack of an error without a cause', () => {
    const err = new PosternError('store_unavailable', 'the store is gone')
    consoleLogger.error({ code: err.code, err }, err.message)
    expect(printedText().split('\n')[1]).toMatch(/^\s+at .*logger\.test\.ts/)
  })

  it.each([
    ['an error of another message', new Error('another'), '\n  Error: another\n'],
    ['text', 'a %s string', "\n  'a %s string'"],
    ['null', null, '\n  null'],
    ['an object', { code: 'E' }, "\n  { code: 'E' }"],
  ])('prints %s below the line', (_what, err, text) => {
    consoleLogger.error({ err }, 'failed')
    expect(printedText().startsWith(`postern: failed${text}`)).toBe(true)
  })

  const HOSTILE = 'x\u001b[2J\r\npostern: delivery handled {"status":200}\u0007\u009b31m\u2028y\u0085z'

  it.each<[string, () => unknown]>([
    ['its own message', () => new PosternError('store_unavailable', HOSTILE)],
    ['its cause', () => new PosternError('unexpected', 'no', { cause: new Error(HOSTILE) })],
    ['a field', () => Object.assign(new Error('no'), { detail: HOSTILE, [HOSTILE]: 1 })],
    ['a name', () => Object.assign(new Error('no'), { name: HOSTILE })],
    ['a stack', () => Object.assign(new Error('no'), { stack: HOSTILE })],
    ['text', () => HOSTILE],
    ['a custom inspection', () => ({ [Symbol.for('nodejs.util.inspect.custom')]: () => HOSTILE })],
  ])('lets no text of a stranger act on a terminal or look like a line, in %s', (_where, make) => {
    const err = make()
    consoleLogger.error({ err }, err instanceof PosternError ? err.message : 'failed')
    const [first, ...rest] = printedText().split('\n')
    expect(first).toMatch(/^postern: /)
    expect(rest.filter((line) => line !== '' && !line.startsWith('  '))).toEqual([])
    expect(printedText()).not.toMatch(/[^\P{Cc}\n]|[\u2028\u2029]/u)
  })

  it('prints the cause of a warning below a line that has the message of its error within', () => {
    const err = new PosternError('handler_failed', 'Handlers failed: save.', { cause: new Error('boom') })
    consoleLogger.warn({ code: err.code, err }, 'try 1 of 10 failed. Handlers failed: save.')
    const [line, cause] = String(printed.warn.mock.calls[0]).split('\n')
    expect(line).toBe('postern: try 1 of 10 failed. Handlers failed: save. {"code":"handler_failed"}')
    expect(cause).toBe('  caused by: Error: boom')
  })

  it('accepts an error without a stack', () => {
    const err = Object.assign(new Error('failed'), { stack: undefined })
    expect(() => consoleLogger.error({ err }, 'failed')).not.toThrow()
  })

  it.each(['\n', '\r', '\u001b[2J', '\u0000', '\u007f', '\u009b31m', '\u2028', '\u2029', '\u202e', '\u200b'])(
    'escapes %j in fields and message, if a terminal would act on it',
    (text) => {
      consoleLogger.warn({ id: `a${text}b` }, `type "c${text}d"`)
      const [line] = printed.warn.mock.calls[0] ?? []
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u)
      expect(line).toMatch(/^postern: type "c\\u.*d" \{"id":"a\\.*b"\}$/)
    },
  )

  it('escapes a format character beyond the first plane so that it reads back unchanged', () => {
    const id = 'a\u{e0001}b'
    consoleLogger.warn({ id }, 'text')
    const [line = ''] = printed.warn.mock.calls[0] ?? []
    expect(JSON.parse(line.slice('postern: text '.length))).toEqual({ id })
  })

  it('leaves other characters as they are', () => {
    consoleLogger.warn({ id: 'žluť 🐎 \ud800' }, 'kůň')
    expect(printed.warn.mock.calls).toEqual([['postern: kůň {"id":"žluť 🐎 \\ud800"}']])
  })
})
