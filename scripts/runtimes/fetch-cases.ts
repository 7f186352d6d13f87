import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { event, sign, type Target } from './target.ts'

/** Requirement that the checker, which judges the same program afterwards, cannot make of every receiver. `run` rejects if it is not met. */
export interface FetchCase {
  readonly name: string
  run(target: Target): Promise<void>
}

const MIB = 1_048_576

const bodies: readonly FetchCase[] = [
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
      const { body: bytes, headers } = sign(event())
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

const runs: readonly FetchCase[] = [
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
        codes.filter((code) => !['body_consumed', 'handler_abandoned'].includes(code)),
        [],
      )
      ok(codes.filter((code) => code === 'handler_abandoned').length <= 1) // by the host that cut off a handler
    },
  },
]

export const fetchCases: readonly FetchCase[] = [...bodies, ...hostileCases, ...runs, ...afterwards]

async function refused(target: Target, body: string | Uint8Array, status: number): Promise<void> {
  const answer = await target.deliver(body)
  equal(answer.status, status, `${answer.text} to ${Buffer.from(body).subarray(0, 60).toString('latin1')}`)
}
