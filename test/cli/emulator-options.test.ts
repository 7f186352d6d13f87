import { describe, expect, it } from 'vitest'
import { readLatency, readPort, readShare } from '../../src/cli/input/emulator-options.ts'

describe('an option of the emulator', () => {
  it.each<[string, (value: string) => unknown, string, unknown]>([
    ['a port', readPort, '0', 0],
    ['a port', readPort, '65535', 65_535],
    ['a share', readShare, '0', 0],
    ['a share', readShare, '1', 1],
    ['a share', readShare, '.25', 0.25],
    ['a share', readShare, '0.25', 0.25],
    ['a latency', readLatency, '200ms', '200ms'],
    ['a latency', readLatency, '50-500ms', ['50ms', '500ms']],
    ['a latency', readLatency, '1s-2s', ['1s', '2s']],
    ['a latency', readLatency, '50-500', '50-500'],
    ['a latency', readLatency, '50-500msx', '50-500msx'],
    ['a latency', readLatency, 'x50-500ms', 'x50-500ms'],
  ])('is read as %s: %#', (_what, readValue, text, value) => {
    expect(readValue(text)).toEqual(value)
  })

  it.each<[string, (value: string) => unknown, readonly string[], string]>([
    ['a port', readPort, ['65536', '-1', '1.5', '999999', 'x1', '1x', ''], 'a number up to 65535'],
    ['a share', readShare, ['1.1', '-0', '1.', 'x.5', '0.5x', ''], 'a number from 0 to 1'],
  ])('is refused as %s: %#', (_what, readValue, texts, message) => {
    for (const text of texts) expect(() => readValue(text), text).toThrow(message)
  })
})
