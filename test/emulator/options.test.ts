import { silentLogger } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { consoleLogger } from '../../src/host/logger.ts'
import { assumeAll } from '../../tools/emulator/dialects.ts'
import { checkEmulatorOptions, type EmulatorOptions } from '../../tools/emulator/options.ts'

const nothing = () => {}
const refusal = (options: unknown) => {
  try {
    checkEmulatorOptions(options as EmulatorOptions) // plain JavaScript has no types
  } catch (error) {
    const { code, message } = Object(error)
    return `${code} ${message}`
  }
  return 'accepted'
}

describe('the options of the emulator', () => {
  it('all have a default', () => {
    expect(checkEmulatorOptions({})).toEqual({
      port: 0,
      host: '127.0.0.1',
      hostAllow: [],
      clock: undefined,
      retryScale: 1,
      deadlineMs: 10_000,
      tokenTtlMs: 3_600_000,
      rateLimit: { limit: 600, windowMs: 60_000 },
      loginRateLimit: { limit: 60, windowMs: 60_000 },
      format: 'spaced',
      signatureHeader: 'X-Service-Signature',
      debugHeaders: false,
      ordered: false,
      faults: { fail: 0, duplicate: 0, shuffle: false, latencyMs: undefined },
      seed: undefined,
      dialect: 'default',
      assumed: assumeAll(),
      database: undefined,
      inbox: undefined,
      logger: consoleLogger,
      accounts: [
        { key: 'acme', email: 'ada@acme.test', password: 'password' },
        { key: 'globex', email: 'gus@globex.test', password: 'password' },
      ],
    })
  })

  it.each<[EmulatorOptions, object]>([
    [{ port: false }, { port: false }],
    [
      { port: 65_535, host: '::1', hostAllow: ['crm'] },
      { port: 65_535, host: '::1', hostAllow: ['crm'] },
    ],
    [
      { clock: 'manual', retryScale: 0.001 },
      { clock: 'manual', retryScale: 0.001 },
    ],
    [{ deadline: 1 }, { deadlineMs: 1 }],
    [
      { deadline: 2 ** 31 - 1, tokenTtl: '30d' },
      { deadlineMs: 2 ** 31 - 1, tokenTtlMs: 30 * 86_400_000 },
    ],
    [{ rateLimit: '10/5m30s' }, { rateLimit: { limit: 10, windowMs: 330_000 } }],
    [{ loginRateLimit: '1/1ms' }, { loginRateLimit: { limit: 1, windowMs: 1 } }],
    [
      { format: 'pretty', debugHeaders: true, ordered: true },
      { format: 'pretty', debugHeaders: true, ordered: true },
    ],
    [
      { faults: { fail: 1, duplicate: 0.5 } },
      { faults: { fail: 1, duplicate: 0.5, shuffle: false, latencyMs: undefined } },
    ],
    [
      { faults: { shuffle: true, latency: '2s' } },
      { faults: { fail: 0, duplicate: 0, shuffle: true, latencyMs: [2_000, 2_000] } },
    ],
    [
      { faults: { latency: ['1s', 3_000] } },
      { faults: { fail: 0, duplicate: 0, shuffle: false, latencyMs: [1_000, 3_000] } },
    ],
    [{ faults: { latency: 0 } }, { faults: { fail: 0, duplicate: 0, shuffle: false, latencyMs: [0, 0] } }],
    [{ seed: 7 }, { seed: '7' }],
    [{ dialect: 'hostile', assume: { A04: 'items' } }, { assumed: { listBody: 'items', idName: 'id' } }],
    [{ assume: { listBody: undefined, A02: '200' } }, { assumed: { listBody: 'array', creationStatus: '200' } }],
    [{ assume: { listBody: 'items', A04: 'items' } }, { assumed: { listBody: 'items' } }],
    [{ logger: silentLogger }, { logger: silentLogger }],
  ])('are read: %j', (options, read) => {
    expect(checkEmulatorOptions(options)).toMatchObject(read)
  })

  it.each([
    [
      { prot: 1 },
      /^option_unknown startEmulator has no option "prot"\. Did you mean "port"\? It takes port, host, hostAllow, .*logger\.$/,
    ],
    [{ port: 'x', prot: 1 }, /^option_unknown .*"prot"/],
    [{ port: -1 }, /^option_invalid startEmulator: port: /],
    [{ port: '4010' }, /port: must be a whole number from 0 to 65535, or false, not "4010"$/],
    [{ retryScale: '600' }, /retryScale: must be a number from 0\.001, not "600"$/],
    [{ rateLimit: 600 }, /rateLimit: must be text such as "600\/60s", not 600$/],
    [{ format: 'prety' }, /format: must be "pretty", or one of compact, spaced, pretty, escaped, random, not "prety"$/],
    [{ hostAllow: 'crm' }, /hostAllow: must be a list, not "crm"$/],
    [{ ordered: 'yes' }, /ordered: must be true or false, not "yes"$/],
    [{ assume: 'listBody=items' }, /assume: must be an object, not "listBody=items"$/],
    [{ faults: { latency: {} } }, /faults\.latency: must be a duration, such as "200ms", or two/],
    [{ port: 65_536 }, /port: /],
    [{ port: 1.5 }, /port: /],
    [{ host: '' }, /host: /],
    [{ hostAllow: ['crm', ''] }, /hostAllow\.1: /],
    [
      { hostAllow: ['*.local'] },
      /hostAllow\.0: must be one name or address, without a scheme, a port and \*, not "\*\.local"/,
    ],
    [{ clock: null }, /clock: must be "manual" or a clock/],
    [
      { clock: { now: nothing, monotonic: nothing, setTimeout: nothing } },
      /clock: must be "manual" or a clock, with now, monotonic, setTimeout, clearTimeout$/,
    ],
    [{ retryScale: Number.POSITIVE_INFINITY }, /retryScale: /],
    [{ retryScale: 0.0009 }, /retryScale: /],
    [{ deadline: 0 }, /deadline: must be more than 0/],
    [{ deadline: 2 ** 31 }, /deadline: must be at most 2147483647 ms, the longest time that a timer takes/],
    [{ deadline: 'soon' }, /deadline: .*soon/],
    [{ tokenTtl: '0s' }, /tokenTtl: must be more than 0/],
    [{ rateLimit: '0/60s' }, /rateLimit: "0\/60s" is not a rate: write 600\/60s/],
    [{ rateLimit: '600/' }, /is not a rate/],
    [{ rateLimit: '600/0s' }, /is not a rate/],
    [{ rateLimit: 'x600/60s' }, /is not a rate/],
    [{ loginRateLimit: '-1/60s' }, /loginRateLimit: "-1\/60s" is not a rate/],
    [{ format: 'xml' }, /format: /],
    [{ faults: { fail: 1.1 } }, /faults\.fail: /],
    [{ faults: { duplicate: -0.1 } }, /faults\.duplicate: /],
    [{ faults: { latency: ['1s'] } }, /faults\.latency/],
    [{ faults: { latency: '25d' } }, /faults\.latency/],
    [{ faults: { latency: ['1s', '25d'] } }, /faults\.latency/],
    [{ dialect: 'klingon' }, /there is no dialect "klingon"; give one of default, hostile\./],
    [{ dialect: 'toString' }, /there is no dialect "toString"/],
    [{ accounts: [{ key: 'a', email: 'x' }] }, /accounts\.0\.password: /],
    [
      { database: { exec: nothing, prepare: nothing, pragma: nothing } },
      /database: must be a database that openSqlite of postern\/sqlite opened, with exec, prepare, pragma, transaction$/,
    ],
    [
      { inbox: { counts: nothing, list: nothing, get: nothing, replay: nothing } },
      /inbox: must be an inbox, such as that of/,
    ],
    [{ logger: { debug: nothing, info: nothing, warn: nothing } }, /logger: must be a logger/],
    [{ port: -1, host: '' }, /port: .*; host: /],
  ])('are refused if they cannot work: %j', (options, told) => {
    expect(refusal(options)).toMatch(told)
    expect(refusal(options)).toMatch(/^option_(invalid|unknown) startEmulator/)
  })
})

describe('assumptions', () => {
  it.each([
    [{ A41: 'x' }, 'there is no assumption "A41"; give A01 to A40'],
    [{ toString: 'x' }, 'there is no assumption "toString"'],
    [{ A04: 'constructor' }, 'A04 cannot be "constructor"; give one of array, data, items, named, docs.'],
    [{ listBody: 'constructor' }, 'listBody cannot be "constructor"'],
    [{ listBody: '' }, 'listBody cannot be ""'],
    [{ listBody: 'items', A04: 'data' }, 'listBody has two values, items and data, by its name and by its id'],
  ])('are refused if there is none of that name or value: %j', (assume, told) => {
    expect(() => assumeAll('default', assume as Record<string, string>)).toThrow(
      expect.objectContaining({ code: 'option_invalid', message: expect.stringContaining(`startEmulator: ${told}`) }),
    )
  })

  it('are those of the dialect, unless they are named by name or by id', () => {
    const hostile = assumeAll('hostile')
    expect([assumeAll().listBody, hostile.listBody, hostile.webhookPaging]).toEqual(['array', 'docs', 'none'])
    const assumed = { ...hostile, listBody: 'array', webhookPaging: 'pages' }
    expect(assumeAll('hostile', { listBody: 'array', A08: 'pages' })).toEqual(assumed)
  })
})
