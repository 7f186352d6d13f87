import { createServer } from 'node:http'
import { checkReceiver } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { type Answer, type Event, HandWritten, SECRET } from './faulty/hand-written.ts'

/** An answer by its status alone, or an end of the connection. */
type Step = number | 'cut' | Answer

/** Answers requests in this order, and all further ones like the last. */
async function answerWith(steps: readonly Step[]): Promise<string> {
  let count = 0
  const server = createServer((request, response) => {
    const step = steps[Math.min(count++, steps.length - 1)] ?? 500
    if (step === 'cut') return request.socket.destroy()
    const { status, headers = {}, text = '' } = typeof step === 'number' ? { status: step } : step
    request.resume()
    return response.writeHead(status, headers).end(text)
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  return `http://127.0.0.1:${port}/webhooks`
}

async function judge(id: string, steps: readonly Step[]): Promise<string | undefined> {
  const { checks } = await checkReceiver(await answerWith(steps), { secret: SECRET, only: [id], patienceMs: 200 })
  return checks[0]?.status
}

const FULL: Answer = { status: 429, headers: { 'retry-after': '0' } }
const LATER: Answer = { status: 429, headers: { 'retry-after': '60' } }

describe('a check', () => {
  it.each<readonly [id: string, status: string, steps: readonly Step[]]>([
    ['accepts-valid', 'pass', [204]],
    ['accepts-valid', 'pass', [299]],
    ['accepts-valid', 'fail', [304]],
    ['accepts-valid', 'fail', [404]],
    ['get-not-2xx', 'pass', [405]],
    ['get-not-2xx', 'pass', [404]],
    ['get-not-2xx', 'warn', [200]],
    ['get-not-2xx', 'warn', ['cut']],
    ['no-redirect', 'pass', [500]],
    ['no-redirect', 'fail', [308]],
    ['no-redirect', 'fail', ['cut']],
    ['get-not-2xx', 'warn', [LATER]],
    ['no-redirect', 'fail', [LATER]],
    ['no-redirect', 'fail', [429]],
    ['deadline', 'fail', [LATER]],
    ['deadline', 'pass', [FULL, 200]],
    ['gzip-before-signing', 'fail', [LATER]],
    ['signature-missing', 'pass', [401]],
    ['signature-missing', 'pass', [499]],
    ['signature-missing', 'fail', [500]],
    ['signature-missing', 'fail', [302]],
    ['signature-missing', 'fail', [202]],
    ['signature-missing', 'fail', ['cut']],
    ['signature-no-secret', 'pass', [401]],
    ['signature-no-secret', 'fail', [401, 200]],
    ['signature-no-secret', 'fail', [200, 401]],
    ['signature-of-duplicate', 'pass', [200, 401]],
    ['signature-of-duplicate', 'fail', [200, 500]],
    ['signature-of-duplicate', 'skipped', [401]],
    ['signature-remembered', 'pass', [200, 401]],
    ['signature-remembered', 'fail', [200]],
    ['signature-remembered', 'skipped', [401]],
    ['signature-no-prefix', 'pass', [401]],
    ['signature-no-prefix', 'warn', [200]],
    ['signature-no-prefix', 'fail', [500]],
    ['signature-hex-case', 'pass', [200]],
    ['signature-hex-case', 'info', [401]],
    ['signature-hex-case', 'fail', [500]],
    ['signature-other-prefix', 'pass', [401]],
    ['signature-other-prefix', 'warn', [200]],
    ['signature-other-prefix', 'fail', [500]],
    ['signature-other-types', 'pass', [401]],
    ['signature-other-types', 'fail', [200, 401]],
    ['signature-other-types', 'fail', [401, 401, 401, 200]],
    ['signature-other-types', 'fail', [401, 500]],
    ['signature-unknown-account', 'pass', [401]],
    ['signature-unknown-account', 'fail', [401, 500]],
    ['signature-unknown-account', 'fail', [401, 401, 200]],
    ['signature-unknown-account', 'fail', [401, 401, 401, 200]],
    ['signature-null', 'pass', [400]],
    ['signature-null', 'fail', ['cut']],
    ['keep-alive', 'pass', [200, 401, 200]],
    ['keep-alive', 'pass', [200, 'cut', 401, 200]],
    ['keep-alive', 'fail', [200, 'cut']],
    ['keep-alive', 'fail', [200, 200, 200]],
    ['keep-alive', 'fail', [200, 401, 400]],
    ['keep-alive', 'fail', [200, 401, 'cut']],
    ['keep-alive', 'skipped', [401]],
    ['header-lower-case', 'warn', [401]],
    ['text-quotes', 'fail', [500]],
    ['text-half-character', 'info', [400]],
    ['text-half-character', 'warn', [500]],
    ['text-half-character', 'pass', [200]],
    ['deleted-id-only', 'pass', [200]],
    ['deleted-id-only', 'fail', [200, 422]],
    ['deleted-id-only', 'skipped', [422]],
    ['created-after-updated', 'fail', [200, 500]],
    ['same-email', 'warn', [200, 409]],
    ['same-email', 'skipped', [409]],
    ['signed-null', 'fail', [500]],
    ['gzip-after-signing', 'pass', [415]],
    ['gzip-after-signing', 'fail', [200]],
    ['gzip-after-signing', 'fail', [500]],
    ['gzip-before-signing', 'pass', [401]],
    ['gzip-before-signing', 'pass', [202, 202]],
    ['gzip-before-signing', 'fail', [200, 400]],
    ['gzip-before-signing', 'fail', ['cut']],
    ['bytes-duplicate-keys', 'warn', [400]],
    ['bytes-chunked', 'warn', [411]],
    ['unknown-account', 'pass', [401]],
    ['unknown-account', 'pass', [200]],
    ['unknown-account', 'warn', [500]],
    ['unknown-account', 'warn', ['cut']],
    ['duplicate', 'pass', [200]],
    ['duplicate', 'fail', [200, 409]],
    ['duplicate', 'fail', [200, 500]],
    ['duplicate', 'fail', [200, 'cut']],
    ['duplicate', 'skipped', [500, 200]],
    ['duplicates-at-once', 'pass', [200]],
    ['duplicates-at-once', 'warn', [200, 409]],
    ['duplicates-at-once', 'warn', [200, 425]],
    ['duplicates-at-once', 'warn', [200, 429]],
    ['duplicates-at-once', 'warn', [200, 503]],
    ['duplicates-at-once', 'fail', [200, 500]],
    ['duplicates-at-once', 'fail', [409]],
    ['duplicates-at-once', 'warn', [...Array(8).fill(FULL), 200, 409]],
    ['duplicates-at-once', 'skipped', [FULL]],
    ['duplicates-at-once', 'fail', [500]],
    ['leak-stack', 'pass', [401]],
    ['leak-stack', 'skipped', ['cut']],
    ['leak-digest', 'skipped', ['cut']],
    ['leak-secret', 'skipped', ['cut']],
    ['huge-body', 'pass', [413]],
    ['huge-body', 'pass', [200]],
    ['huge-body', 'warn', [400]],
    ['huge-body', 'warn', ['cut']],
    ['huge-body', 'fail', [500]],
    ['signed-not-json', 'pass', [400]],
    ['signed-not-json', 'fail', [500]],
    ['signed-empty', 'fail', ['cut']],
    ['burst', 'pass', [200]],
    ['burst', 'warn', [200, LATER]],
    ['burst', 'pass', [...Array(50).fill(FULL), 200]],
    ['burst', 'fail', [LATER]],
    ['burst', 'warn', [200, 429]],
  ])('%s is %s if the answers are %j', async (id, status, steps) => {
    expect(await judge(id, steps)).toBe(status)
  })

  it('reports a leak in the answer to a signed body that is not JSON, even behind the first kilobytes', async () => {
    class LeaksLate extends HandWritten {
      override parse(body: Buffer): Event | undefined {
        try {
          return JSON.parse(body.toString())
        } catch {
          return undefined
        }
      }
      override async answer(request: Parameters<HandWritten['answer']>[0]): Promise<Answer> {
        const answer = await super.answer(request)
        return answer.status === 400
          ? { ...answer, text: `${' '.repeat(20_000)}Traceback (most recent call last)` }
          : answer
      }
    }
    const { port, close } = await listen(new LeaksLate().createServer())
    onTestFinished(close)
    const { summary } = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, {
      secret: SECRET,
      only: ['leak-stack'],
    })
    expect(summary.fail).toBe(1)
  })

  it('warns of plain http to another host', async () => {
    const options = { secret: SECRET, allowRemote: true, only: ['https'] }
    expect((await checkReceiver('http://hooks.example.test/', options)).summary.warn).toBe(1)
    expect((await checkReceiver('https://hooks.example.test/', options)).summary.pass).toBe(1)
  })

  it('deadline warns of an answer after more than two seconds', async () => {
    const server = createServer((request, response) => {
      request.resume()
      setTimeout(() => response.end(), 2_300)
    })
    const { port, close } = await listen(server)
    onTestFinished(close)
    const { summary } = await checkReceiver(`http://127.0.0.1:${port}/`, { secret: SECRET, only: ['deadline'] })
    expect(summary.warn).toBe(1)
  })

  it.each([
    [2.6, 'fail'],
    [3, 'pass'],
  ])('late-retry of a receiver with a tolerance of %d hours is %s', async (hours, status) => {
    class Tolerates extends HandWritten {
      override async receive(event: Event): Promise<Answer> {
        const isOld = Date.now() - Date.parse(event.timestamp) > hours * 3_600_000
        return isOld ? { status: 400 } : super.receive(event)
      }
    }
    const { port, close } = await listen(new Tolerates().createServer())
    onTestFinished(close)
    const url = `http://127.0.0.1:${port}/webhooks`
    const { checks } = await checkReceiver(url, { secret: SECRET, only: ['late-retry'] })
    expect(checks[0]?.status).toBe(status)
  })

  it.each([
    ['passes by 500, and no 2xx', 'pass', [500]],
    ['is skipped where the secret is another one', 'skipped', [401]],
    ['is skipped where no request is taken', 'skipped', [429]],
  ] as const)('effect-ack-after-work %s', async (_what, status, steps) => {
    const url = await answerWith([...steps])
    const probe = { runs: async () => 0, fail: async () => {} }
    const options = { secret: SECRET, probe, patienceMs: 100 }
    const { checks } = await checkReceiver(url, { ...options, only: ['effect-ack-after-work'] })
    expect(checks[0]?.status).toBe(status)
    const copies = await checkReceiver(url, { ...options, only: ['effect-copies-of-failure'] })
    expect(copies.checks[0]?.status).toBe(status)
  })

  it.each<readonly [status: string, steps: readonly Step[]]>([
    ['fail', [500, 401]],
    ['fail', [500, 200]],
    ['skipped', [401]],
    ['skipped', [200]],
  ])('effect-retry-after-failure is %s if the answers are %j and nothing is done', async (status, steps) => {
    const probe = { runs: async () => 0, fail: async () => {} }
    const options = { secret: SECRET, probe, patienceMs: 100, only: ['effect-retry-after-failure'] }
    const { checks } = await checkReceiver(await answerWith(steps), options)
    expect(checks[0]?.status).toBe(status)
  })
})
