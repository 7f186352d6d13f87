import { describe, expect, it } from 'vitest'
import {
  nameUrl,
  readCount,
  readDuration,
  readLimit,
  readRate,
  readTargetUrl,
  waitOption,
} from '../../tools/cli/input/read-option.ts'

describe('an option', () => {
  it.each<[string, (value: string) => unknown, string, unknown]>([
    ['a limit', readLimit, '0', 0],
    ['a wait', (text) => waitOption('--wait <time>', '', 1, '1ms').parseArg?.(text, undefined), '0s', 0],
    ['a count', readCount, '999999999', 999_999_999],
    ['a rate', readRate, '0.5', 0.5],
    ['a time', readDuration, '1ms', 1],
    ['a time', readDuration, '5m30s', 330_000],
  ])('is read as %s: %#', (_what, readValue, text, value) => {
    expect(readValue(text)).toEqual(value)
  })

  it.each<[string, (value: string) => unknown, readonly string[], string]>([
    ['a count', readCount, ['0', '01', '-1', '1.5', '1e3', 'x1', '1x', '1000000000', ''], 'a whole number, at least 1'],
    ['a limit', readLimit, ['01', '-1', '1.5', ''], 'a whole number'],
    ['a rate', readRate, ['0', '0.0', '-1', '.5', '1.', '1.5x', 'x1', '1e3', ''], 'a number above 0'],
    ['a time', readDuration, ['0s', '0.5ms', '10', 's', ''], 'a number and a unit'],
  ])('is refused as %s: %#', (_what, readValue, texts, message) => {
    for (const text of texts) expect(() => readValue(text), text).toThrow(message)
  })
})

describe('the URL of a receiver', () => {
  it.each(['localhost:3000', 'ftp://localhost/', 'httpsx://localhost/', 'x', ''])('is whole: not %j', (text) => {
    const refusal = `--to ${text} is not a URL; write it whole: http://localhost:3000/webhooks`
    expect(() => readTargetUrl(text, '--to', true)).toThrow(refusal)
  })

  it('is completed in the message', () => {
    for (const text of ['127.0.0.1:4000/hooks', '//127.0.0.1:4000/hooks', 'htp://127.0.0.1:4000/hooks'])
      expect(() => readTargetUrl(text, '--to', true)).toThrow('write it whole: http://127.0.0.1:4000/hooks')
  })

  it('is not repeated with a password, nor if a variable holds it', () => {
    expect(nameUrl('--to', 'ada:hunter2\n@x@crm\u001b')).toBe('--to ***@crm?')
    expect(nameUrl('POSTERN_BASE_URL', 'hunter2')).toBe('POSTERN_BASE_URL')
  })
})
