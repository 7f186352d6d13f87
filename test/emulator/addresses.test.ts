import { describe, expect, it } from 'vitest'
import { findUrlProblem, guardLookup } from '../../tools/emulator/addresses.ts'
import { makeDatabase, sink, start } from './support.ts'

const LOCAL = [
  'http://127.0.0.1:3000/',
  'http://127.9.9.9/',
  'http://localhost/',
  'http://app.localhost:8080/x?y',
  'http://[::1]:1/',
  'http://[::ffff:127.0.0.1]/',
  'https://localhost/',
  'https://127.0.0.1/',
  'http://2130706433/',
  'http://localhost.:3000/',
]
const PUBLIC = [
  'https://example.com/hooks',
  'https://93.184.216.34/',
  'https://[2606:2800:220:1::1]/',
  'https://example.com:8443/',
]
const PLAIN = [
  'http://example.com/',
  'http://93.184.216.34/',
  'http://localhost.example.com/',
  'http://notlocalhost/',
  'http://[2606:2800:220:1::1]/',
]
const PRIVATE = [
  ...['https://10.0.0.1/', 'http://10.0.0.1/', 'https://172.16.5.4/', 'https://192.168.1.1/', 'https://100.64.0.1/'],
  ...['https://0.0.0.0/', 'http://0/', 'https://[fc00::1]/', 'https://[::]/', 'https://[::ffff:10.0.0.1]/'],
  ...['https://[::10.0.0.1]/', 'https://[::2]/', 'https://[fec0::1]/', 'https://[2002:a00:1::]/'],
  ...['https://224.0.0.1/', 'https://255.255.255.255/', 'https://[ff02::1]/'],
]
const FORBIDDEN = [
  ...['http://169.254.169.254/latest/meta-data/', 'https://169.254.169.254/', 'https://169.254.1.1/'],
  ...['https://[fe80::1]/', 'https://[fd00:ec2::254]/', 'https://100.100.100.200/', 'https://168.63.129.16/'],
  ...['http://[::ffff:169.254.169.254]/', 'http://[::ffff:a9fe:a9fe]/', 'https://[64:ff9b::a9fe:a9fe]/'],
  ...['https://[2002:a9fe:a9fe::]/', 'http://0xa9fea9fe/', 'http://2852039166/'],
]
const NEVER = [
  'ftp://localhost/',
  'javascript:alert(1)',
  'file:///etc/passwd',
  'data:text/plain,x',
  'https://user:pass@example.com/',
  'https://user@localhost/',
  'https://:pass@localhost/',
  '//example.com',
  'https://',
  `https://example.com/${'x'.repeat(2_048)}`,
]

describe.each([
  ['local', [...LOCAL, ...PUBLIC]],
  ['any', [...LOCAL, ...PUBLIC, ...PLAIN, ...PRIVATE]],
  ['strict', PUBLIC],
] as const)('the URL rule %s (A30)', (rule, taken) => {
  const all = [...LOCAL, ...PUBLIC, ...PLAIN, ...PRIVATE, ...FORBIDDEN, ...NEVER]

  it.each(all.map((url) => [taken.includes(url) ? 'takes' : 'refuses', url.slice(0, 60), url]))(
    '%s %s',
    (does, _short, url) => {
      expect(findUrlProblem(url, rule) === undefined).toBe(does === 'takes')
    },
  )
})

it.each([
  ['local', `https://example.com/${'x'.repeat(2_028)}`, undefined],
  ['local', `https://example.com/${'x'.repeat(2_029)}`, 'is longer than 2048 characters'],
  [
    'local',
    '//example.com',
    'is "//example.com"; give a URL that begins with http:// or https://: https://example.com/',
  ],
  [
    'local',
    'localhost:3000/x',
    'is "localhost:3000/x"; give a URL that begins with http:// or https://: http://localhost:3000/x',
  ],
  ['local', 'ftp://localhost/', 'is "ftp://localhost/"; give a URL that begins with http:// or https://'],
  ['local', 'https://user@localhost/', 'must not contain a user name or password'],
  ['any', 'http://169.254.169.254/', 'leads to a link-local or metadata address, which is never taken'],
  ['strict', 'https://169.254.169.254/', 'leads to a link-local or metadata address, which is never taken'],
  ['strict', 'http://example.com/', 'must be https and lead to a public host'],
  ['strict', 'https://localhost/', 'must be https and lead to a public host'],
  ['local', 'http://example.com/', 'must be https; http is for loopback only'],
  ['local', 'http://10.0.0.1/', 'leads to a private network; the emulator takes that with the URL rule "any" (A30)'],
  ['local', 'https://10.0.0.1/', 'leads to a private network; the emulator takes that with the URL rule "any" (A30)'],
] as const)('under the rule %s, the URL %s is reported as: %s', (rule, url, told) => {
  expect(findUrlProblem(url, rule)).toBe(told)
})

describe('a name, when a connection is made', () => {
  const lookup = (name: string, rule: 'local' | 'any' | 'strict', all: boolean) =>
    new Promise((resolve) =>
      guardLookup('https:', rule)(name, { all }, (error, address) => resolve(error?.name ?? address)),
    )

  it('is refused if the rule forbids an address behind it', async () => {
    expect(await lookup('localhost', 'strict', false)).toBe('BlockedAddress')
    expect(await lookup('localhost', 'local', false)).toMatch(/^(127\.|::1)/)
    expect(await lookup('localhost', 'local', true)).toEqual(
      expect.arrayContaining([expect.objectContaining({ family: expect.any(Number) })]),
    )
  })

  /** Looks up a name that has these addresses, or that cannot be found. */
  const lookUp = (addresses: readonly string[] | Error, all: boolean, protocol = 'http:') => {
    const family = (address: string) => (address.includes(':') ? 6 : 4)
    const resolve = (_name: string, _options: object, done: (error: Error | null, found: object[]) => void) =>
      addresses instanceof Error
        ? done(addresses, [])
        : done(
            null,
            addresses.map((address) => ({ address, family: family(address) })),
          )
    const guarded = guardLookup(protocol, 'local', resolve as never) // the one of its many forms that is called
    return new Promise<readonly unknown[]>((end) =>
      guarded('the app', { all }, (error, ...found) => end([error?.message, ...found])),
    )
  }

  it.each([
    [['127.0.0.1', '10.0.0.1'], 'the app is at 10.0.0.1: the URL leads to a private network'],
    [['169.254.169.254', '127.0.0.1'], 'the app is at 169.254.169.254: the URL leads to a link-local'],
    [['fe80::1%eth0'], 'the app is at fe80::1%eth0: the URL leads to a link-local'],
    [['93.184.216.34'], 'the app is at 93.184.216.34: the URL must be https'],
  ])('is refused for any one of its addresses: %j', async (addresses, told) => {
    for (const all of [true, false]) {
      const [message, found] = await lookUp(addresses, all)
      expect([String(message).slice(0, told.length), found]).toEqual([told, []])
    }
  })

  it('has the first of its addresses, or all that were asked for', async () => {
    const one = { address: '127.0.0.1', family: 4 }
    expect(await lookUp(['127.0.0.1', '::1'], true)).toEqual([undefined, [one, { address: '::1', family: 6 }]])
    expect(await lookUp(['127.0.0.1', '::1'], false)).toEqual([undefined, '127.0.0.1', 4])
    expect(await lookUp(['::1'], false)).toEqual([undefined, '::1', 6])
    expect(await lookUp(['93.184.216.34'], false, 'https:')).toEqual([undefined, '93.184.216.34', 4])
    expect(await lookUp([], false)).toEqual([undefined, []])
  })

  it('that cannot be found is reported by the system', async () => {
    expect(await lookUp(new Error('ENOTFOUND'), false)).toEqual(['ENOTFOUND', []])
  })

  it('is judged again at each attempt: blocked-url', async () => {
    const database = makeDatabase()
    const receiver = await sink()
    const lax = await start({ database, assume: { A30: 'any' } })
    lax.webhooks.create({ url: receiver.url, events: ['sync.failed'] })
    await lax.close()
    const strict = await start({ database, assume: { A30: 'strict' } })
    strict.events.emit({ type: 'sync.failed' })
    await strict.clock.advance(0)
    expect(strict.deliveries.list()).toMatchObject([{ attempts: [{ failure: 'blocked-url', status: undefined }] }])
    expect(receiver.received).toEqual([])
  })
})
