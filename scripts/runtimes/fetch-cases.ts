import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { BodyFormat, Tamper } from '../../tools/testing/testing.ts'
import { event, sign, type Target } from './target.ts'

/** A requirement for a receiver on a Fetch runtime, tested over HTTP. `run` rejects if it is not met. */
export interface FetchCase {
  readonly name: string
  run(target: Target): Promise<void>
}

const MIB = 1_048_576
const FORMATS: readonly BodyFormat[] = ['compact', 'spaced', 'pretty', 'escaped']
const SIZES = { small: 0, '16 KB': 16_384, '256 KB': 262_144 }
const WORDS = 'Zoë, 東京, 👩‍🚀, "quoted", back\\slash '
const FORGED: readonly Tamper[] = ['flip-bit', 'other-secret', 'reserialised']
const MALFORMED: readonly Tamper[] = ['no-header', 'no-prefix', 'sha1', 'short', 'long', 'non-hex']

const accepted: readonly FetchCase[] = Object.entries(SIZES).map(([size, bytes]) => ({
  name: `a ${size} body in every JSON format is handled, its text whole`,
  run: async (target) => {
    const text = WORDS.repeat(Math.ceil((bytes + 1) / Buffer.byteLength(WORDS)))
    for (const format of FORMATS) {
      const delivered = event({ text })
      const answer = await target.deliver(delivered, { format })
      equal(answer.text, `{"code":"handled","id":"${delivered.id}"}`)
      equal(answer.status, 200)
      deepEqual(await target.told(delivered), { runs: 1, ended: 1, text })
    }
  },
}))

const bodies: readonly FetchCase[] = [
  {
    name: 'a body split inside a character, and one in chunks of a byte, are handled',
    run: async (target) => {
      const split = event({ text: WORDS })
      const { body: bytes, headers } = sign(split)
      const middle = Buffer.from(bytes).indexOf('👩') + 2
      const body = [bytes.subarray(0, middle), 100, bytes.subarray(middle)]
      equal((await target.send({ headers, body })).status, 200)
      equal((await target.told(split)).text, WORDS)

      const crumbled = event({ text: WORDS })
      const crumbs = sign(crumbled)
      const each = [...crumbs.body].map((byte) => Uint8Array.of(byte))
      equal((await target.send({ headers: crumbs.headers, body: each })).status, 200)
      deepEqual(await target.told(crumbled), { runs: 1, ended: 1, text: WORDS })
    },
  },
  {
    name: 'a body of exactly the limit is handled, one byte more is refused',
    run: async (target) => {
      const delivered = event()
      const json = JSON.stringify(delivered)
      equal((await target.deliver(`${json}${' '.repeat(MIB - json.length)}`)).status, 200)
      equal((await target.told(delivered)).runs, 1)
      await refused(target, `${JSON.stringify(event())}${' '.repeat(MIB)}`.slice(0, MIB + 1), 413)
    },
  },
  {
    name: 'a chunked body over the limit is refused while it comes in',
    run: async (target) => {
      const { headers } = sign(event())
      // Pauses, as on a network: some hosts close the connection right after their answer.
      const body = Array.from({ length: 20 }, () => [new Uint8Array(MIB / 8), 20]).flat()
      equal((await target.send({ headers, body, isEndless: true })).status, 413)
    },
  },
  {
    name: 'a body with a content encoding is refused, identity is none',
    run: async (target) => {
      const delivered = event()
      const { body: bytes } = sign(delivered)
      for (const [encoding, body] of [
        ['gzip', gzipSync(bytes)],
        ['br', brotliCompressSync(bytes)],
        ['unheard-of', bytes],
      ] as const)
        equal((await target.deliver(body, { headers: { 'content-encoding': encoding } })).status, 415, encoding)
      equal((await target.told(delivered)).runs, 0)
      equal((await target.deliver(delivered, { headers: { 'content-encoding': 'identity' } })).status, 200)
    },
  },
  {
    name: 'signed bodies that are not an envelope are refused, an empty one too',
    run: async (target) => {
      for (const body of ['', 'null', '[]', '1', '"text"', '{', '{"id":"x"}']) await refused(target, body, 400)
      equal((await target.send({ headers: { ...sign('').headers }, body: [] })).status, 400)
    },
  },
  {
    name: 'only strict UTF-8 without a byte order mark is taken',
    run: async (target) => {
      const delivered = event({ text: '?' })
      const json = Buffer.from(JSON.stringify(delivered))
      const at = json.indexOf('?')
      for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x91]])
        await refused(target, Buffer.concat([json.subarray(0, at), Uint8Array.from(bytes), json.subarray(at + 1)]), 400)
      await refused(target, Buffer.concat([Uint8Array.of(0xef, 0xbb, 0xbf), json]), 400)
      await refused(target, Buffer.from(json.toString(), 'utf16le'), 400)
      equal((await target.told(delivered)).runs, 0)
      equal((await target.deliver(delivered)).status, 200)
    },
  },
  {
    name: '200,000 levels of nesting end nothing',
    run: async (target) => {
      const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
      const json = JSON.stringify(event()).replace('"data":{}', `"data":{"deep":${deep}}`)
      const { status } = await target.deliver(json)
      ok(status === 200 || status === 400, `status ${status}`)
    },
  },
  {
    name: 'a sender that goes away within the body leaves no trace',
    run: async (target) => {
      const delivered = event({ text: WORDS })
      const { body: bytes, headers } = sign(delivered)
      const cut = target.send({
        headers: { ...headers, 'content-length': bytes.length },
        body: [bytes.subarray(0, 40)],
        isEndless: true,
        cutAfterMs: 200,
      })
      equal(await cut.catch((error: Error) => error.message), 'cut by the sender')
      equal((await target.told(delivered)).runs, 0)
      equal((await target.deliver(delivered)).status, 200)
    },
  },
  {
    name: 'a body that the app has read before is told to the owner',
    run: async (target) => {
      const { status, text } = await target.deliver(event(), { path: '/consumed' })
      equal(status, 500)
      equal(text, '{"code":"body_consumed"}')
    },
  },
]

/** Cases for every adapter: a sender that leaves after its answer ends no process. */
const hostileCases: readonly FetchCase[] = [
  {
    name: 'a declared 100 MB is refused by its head alone',
    run: async (target) => {
      const { headers } = sign(event())
      const answer = await target.send({ headers: { ...headers, 'content-length': 100_000_000 }, isEndless: true })
      equal(answer.status, 413)
      ok(answer.afterMs < 5_000, `after ${answer.afterMs} ms`)
    },
  },
  {
    name: 'a body that stalls is cut at the deadline, and 20 of them slow nobody',
    run: async (target) => {
      const { body: bytes, headers } = sign(event({ text: WORDS }))
      const stalling = Array.from({ length: 20 }, (_, index) =>
        target.send({
          path: '/quick',
          headers: index % 2 === 0 ? { ...headers, 'content-length': bytes.length } : headers,
          body: [bytes.subarray(0, 40)],
          isEndless: true,
        }),
      )
      const [other, ...slow] = await Promise.all([target.deliver(event()), ...stalling])
      equal(other.status, 200)
      for (const { status, text, afterMs } of slow) {
        equal(status, 408, text)
        ok(afterMs > 900 && afterMs < 6_000, `after ${afterMs} ms`)
      }
    },
  },
  {
    name: 'the process survives refused senders that have left',
    run: async (target) => {
      await sleep(3_000) // the rest of a refused body is read for two seconds
      equal((await target.deliver(event())).status, 200)
    },
  },
]

/** Cases for the adapters on node:http, which read on until the sender has the answer. */
export const nodeCases: readonly FetchCase[] = [
  {
    name: 'a 100 MB body is refused by its declared length while it is sent',
    run: async (target) => {
      const { headers } = sign(event())
      const body = Array.from({ length: 100 }, () => [new Uint8Array(1_000_000), 20]).flat()
      equal((await target.send({ headers: { ...headers, 'content-length': 100_000_000 }, body })).status, 413)
    },
  },
  ...hostileCases,
]

const heads: readonly FetchCase[] = [
  {
    name: 'forged signatures are refused, and the real delivery runs after them',
    run: async (target) => {
      const delivered = event({ text: WORDS })
      for (const tamper of FORGED) await unauthorized(target.deliver(delivered, { tamper }))
      equal((await target.told(delivered)).runs, 0)
      equal((await target.deliver(delivered)).status, 200)
    },
  },
  {
    name: 'missing and malformed signature headers are refused',
    run: async (target) => {
      const delivered = event()
      for (const tamper of MALFORMED) await unauthorized(target.deliver(delivered, { tamper }))
      for (const value of ['', 'sha256=', 'sha256', 'sha512='.padEnd(135, '0'), `sha256=${'é'.repeat(32)}`])
        await unauthorized(
          target.deliver(delivered, { headers: { 'x-service-signature': Buffer.from(value).toString('latin1') } }),
        )
      equal((await target.told(delivered)).runs, 0)
    },
  },
  {
    name: 'two signature headers are refused, even if both are right',
    run: async (target) => {
      const delivered = event()
      const right = sign(delivered).signature ?? ''
      const wrong = sign(delivered, { tamper: 'other-secret' }).signature ?? ''
      for (const values of [
        [right, right],
        [right, wrong],
        [wrong, right],
      ])
        await unauthorized(target.deliver(delivered, { headers: { 'x-service-signature': values } }))
      equal((await target.told(delivered)).runs, 0)
    },
  },
  {
    name: 'upper-case digits are taken',
    run: async (target) => {
      const delivered = event()
      const digits = sign(delivered).signature?.slice('sha256='.length).toUpperCase()
      const headers = { 'x-service-signature': `sha256=${digits}` }
      equal((await target.deliver(delivered, { headers })).status, 200)
    },
  },
  {
    name: 'other methods than POST are refused',
    run: async (target) => {
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE']) {
        const { status, allow } = await target.send({ method })
        deepEqual({ status, allow }, { status: 405, allow: 'POST' }, method)
      }
    },
  },
  {
    name: 'a connection that is kept alive goes on after refusals',
    run: async (target) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      try {
        await unauthorized(target.deliver(event({ text: WORDS.repeat(1_000) }), { tamper: 'flip-bit', agent }))
        await unauthorized(target.deliver(event({ text: WORDS.repeat(1_000) }), { tamper: 'no-header', agent }))
        equal((await target.deliver(event(), { agent })).status, 200)
      } finally {
        agent.destroy()
      }
    },
  },
]

const runs: readonly FetchCase[] = [
  {
    name: 'copies of a finished event are answered 200 and run nothing',
    run: async (target) => {
      const delivered = event()
      await target.deliver(delivered)
      for (const format of FORMATS) match((await target.deliver(delivered, { format })).text, /"duplicate"/)
      equal((await target.told(delivered)).runs, 1)
    },
  },
  {
    name: '20 copies at once run once and share the result',
    run: async (target) => {
      const delivered = event({ sleepMs: 500 })
      const answers = await Promise.all(Array.from({ length: 20 }, () => target.deliver(delivered)))
      for (const { text } of answers) equal(text, `{"code":"handled","id":"${delivered.id}"}`)
      equal((await target.told(delivered)).runs, 1)
    },
  },
  {
    name: 'the result reaches copies whose first sender has gone away',
    run: async (target) => {
      const delivered = event({ sleepMs: 1_500 })
      const first = target.deliver(delivered, { cutAfterMs: 300 }).catch((error: Error) => error.message)
      await sleep(150)
      const copy = await target.deliver(delivered)
      equal(await first, 'cut by the sender')
      equal(copy.status, 200, copy.text)
      deepEqual(await target.told(delivered), { runs: 1, ended: 1 })
    },
  },
  {
    name: 'a handler that fails, whatever it throws, is run again by the retry',
    run: async (target) => {
      for (const throws of ['error', 'undefined', 'null', 'text'] as const) {
        const delivered = event({ failures: 1, throws })
        equal((await target.deliver(delivered)).text, `{"code":"handler_failed","id":"${delivered.id}"}`)
        equal((await target.deliver(delivered)).status, 200)
        deepEqual(await target.told(delivered), { runs: 2, ended: 1 })
      }
    },
  },
  {
    name: 'a late handler is answered 503, goes on, and its retry is a duplicate',
    run: async (target) => {
      const delivered = event({ sleepMs: 2_500 })
      const late = await target.deliver(delivered, { path: '/quick' })
      equal(late.status, 503)
      match(late.text, /"late"/)
      ok(late.afterMs > 900 && late.afterMs < 2_500, `after ${late.afterMs} ms`)
      await sleep(3_000)
      deepEqual(await target.told(delivered), { runs: 1, ended: 1 })
      const retry = await target.deliver(delivered, { path: '/quick' })
      match(retry.text, /"duplicate"/)
      equal((await target.told(delivered)).runs, 1)
    },
  },
  {
    name: 'a handler that its host cut off blocks nothing',
    run: async (target) => {
      const delivered = event({ sleepMs: 2_000 })
      const deliver = () => target.deliver(delivered, { path: '/unkept' })
      equal((await deliver()).status, 503)
      await sleep(10_000) // sooner than the service's first retry
      const retry = await deliver()
      equal(retry.status, 200, retry.text)
      ok((await target.told(delivered)).ended >= 1)
    },
  },
]

/** Runs last, and checks that the other cases left nothing behind. */
const afterwards: readonly FetchCase[] = [
  {
    name: 'no error was reported beside those that were asked for',
    run: async (target) => {
      const codes = await target.errors()
      deepEqual(
        codes.filter((code) => !['handler_failed', 'body_consumed', 'handler_abandoned'].includes(code)),
        [],
      )
      ok(codes.filter((code) => code === 'handler_abandoned').length <= 1) // by the host that cut off a handler
    },
  },
]

export const fetchCases: readonly FetchCase[] = [
  ...accepted,
  ...heads,
  ...bodies,
  ...hostileCases,
  ...runs,
  ...afterwards,
]

async function refused(target: Target, body: string | Uint8Array, status: number): Promise<void> {
  const answer = await target.deliver(body)
  equal(answer.status, status, `${answer.text} to ${Buffer.from(body).subarray(0, 60).toString('latin1')}`)
}

async function unauthorized(answer: ReturnType<Target['deliver']>): Promise<void> {
  const { status, text } = await answer
  equal(text, '{"code":"unauthorized"}')
  equal(status, 401)
}
