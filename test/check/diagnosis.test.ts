import type { IncomingMessage, RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CheckOptions, formatReport } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { type Answer, HandWritten } from './faulty/hand-written.ts'
import { checkAt, told } from './judge.ts'
import { holdLimits } from './play.ts'

/** A few checks of each group that a diagnosis treats in its own way. */
const ONLY = [
  ...['accepts-valid', 'signature-missing', 'signature-null', 'signature-reserialised', 'get-not-2xx', 'leak'],
  ...['bytes-compact', 'bytes-pretty', 'unknown-type', 'late-retry', 'effect', 'alive-after-all'],
]

async function check(receiver: Parameters<typeof checkAt>[0], options: Partial<CheckOptions> = {}) {
  return (await checkAt(receiver, { only: ONLY, ...options })).report
}

/** A receiver that answers so many requests, and puts the others off. */
function limitAfter(answered: number): RequestListener {
  const receiver = new HandWritten().createServer()
  let requests = 0
  return (request, response) => {
    if (++requests <= answered) receiver.emit('request', request, response)
    else response.writeHead(429, { 'retry-after': '60' }).end()
  }
}

/** Never answers, and ends the time limits of the deliveries under way. */
function hang(endLimits: () => void): Promise<Answer> {
  endLimits()
  return new Promise(() => {})
}

describe('the diagnosis', () => {
  it('is event_refused for a receiver that refuses the events of the account, and the rest follows from it', async () => {
    class OtherAccountsOnly extends HandWritten {
      override async receive() {
        return { status: 422 }
      }
    }
    const report = await check(new OtherAccountsOnly())
    expect(report.diagnosis).toMatchObject({ code: 'event_refused', text: expect.stringContaining('account key') })
    const own = Object.keys(told(report, 'fail', 'warn')).filter((id) => !report.diagnosis?.follows.includes(id))
    expect(own).toEqual(['accepts-valid'])
  })

  it.each([
    ['put off for 60 s', { 'retry-after': '60' }],
    ['put off for an unknown time', {}],
  ])(
    'is put_off for a receiver that limits requests after some, and passes nothing that was %s',
    async (words, headers) => {
      class Bans extends HandWritten {
        #refusals = 0

        override async answer(request: IncomingMessage): Promise<Answer> {
          const answer = this.#refusals < 5 ? await super.answer(request) : undefined
          if (answer?.status === 401) this.#refusals++
          if (answer === undefined) await this.read(request) // a sender that still sends may lose the answer
          return answer ?? { status: 429, headers }
        }
      }
      const report = await check(new Bans(), { only: ['accepts-valid', 'signature', 'bytes', 'time'] })
      const { code, text = '', follows = [] } = report.diagnosis ?? {}
      expect(code).toBe('put_off')
      expect(text).toContain('limits requests')
      const own = Object.keys(told(report, 'fail', 'warn')).filter((id) => !follows.includes(id))
      expect(own).toEqual([])
      expect(follows).toContain('late-retry')
      expect(follows).toContain('signature-null')
      expect(told(report, 'fail')['late-retry']).toMatch(new RegExp(`^429 after \\d+ ms, ${words}$`))
      expect(formatReport(report, 'junit').split(text.slice(0, 40)).length - 1).toBe(follows.length)
      expect(formatReport(report, 'junit')).not.toContain('follows from accepts-valid')
    },
  )

  it('is missing for a receiver that puts off only forgeries by 503: its code fails when it verifies', async () => {
    class PutsForgeriesOff extends HandWritten {
      override refuse(): Answer {
        return { status: 503, headers: { 'retry-after': '5' } }
      }
    }
    const report = await check(new PutsForgeriesOff())
    expect(report).not.toHaveProperty('diagnosis')
    expect(told(report, 'fail')['signature-missing']).toMatch(/^503 after \d+ ms, put off for 5 s$/)
  })

  it('is put_off even if the checks that the limit kept from judging were only skipped', async () => {
    const probe = { runs: async () => 1, fail: async () => {} }
    const report = await check(limitAfter(1), { only: ['accepts-valid', 'effect-once'], probe })
    expect(report.summary).toMatchObject({ pass: 1, skipped: 1 })
    expect(report.diagnosis).toMatchObject({ code: 'put_off', follows: [] })
  })

  it('folds a burst of which nothing was accepted, once a limit is reached', async () => {
    const { diagnosis, checks } = await check(limitAfter(5), { only: ['bytes', 'burst'] })
    expect(diagnosis).toMatchObject({ code: 'put_off', follows: expect.arrayContaining(['bytes-charset', 'burst']) })
    expect(checks.at(-1)).toMatchObject({ status: 'fail', reason: '50 × 429, put off for 60 s' })
  })

  it('is no_answer for a receiver that works on after a burst, and does not fold the burst', async () => {
    const { end: endLimits } = holdLimits()
    const receiver = new HandWritten().createServer()
    let [requests, answered] = [0, 0]
    // Answers a plain delivery and ten of the burst, and nothing else: its limits end when those have their answers.
    const endBurst = () => void (requests >= 51 && answered === 11 && setImmediate(endLimits))
    const answer: RequestListener = (request, response) => {
      requests++
      if (requests > 51) return endLimits()
      if (requests <= 11) {
        request.socket.on('close', () => {
          answered++
          endBurst()
        })
        receiver.emit('request', request, response)
      }
      return endBurst()
    }
    const report = await check(answer, { only: ['accepts-valid', 'burst', 'alive-after-all'] })
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('still works') })
    expect(report.diagnosis?.follows).toEqual(['alive-after-all'])
    expect(told(report, 'fail').burst).toBe('10 × 200, 40 × no answer within 60 s')
  })

  it('is no_answer for a receiver that hangs after some requests, and blames no check for it', async () => {
    const { end: endLimits } = holdLimits()
    class GivesNothingBack extends HandWritten {
      #connections = 5

      override refuse(): Answer {
        this.#connections--
        return { status: 401 }
      }

      override async answer(request: IncomingMessage): Promise<Answer> {
        return this.#connections > 0 ? super.answer(request) : hang(endLimits)
      }
    }
    const report = await check(new GivesNothingBack(), {
      only: ['accepts-valid', 'signature', 'bytes', 'time'],
      concurrency: 1,
    })
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('it hangs') })
    expect(report.diagnosis?.follows).toEqual(Object.keys(told(report, 'fail', 'warn')))
    expect(report.diagnosis?.follows.length).toBeGreaterThan(2)
    // Most checks would only wait.
    expect(told(report, 'skipped')).toMatchObject({ 'late-retry': 'the receiver answers nothing in time any more' })
  })

  it('is no_answer for a receiver that hung, though it answers again at the end', async () => {
    const { end: endLimits } = holdLimits()
    class Blocked extends HandWritten {
      #requests = 0

      override async answer(request: IncomingMessage): Promise<Answer> {
        this.#requests++
        // Eight checks, and the delivery that finds out if it hangs.
        const isBlocked = this.#requests > 1 && this.#requests <= 10
        return isBlocked ? hang(endLimits) : super.answer(request)
      }
    }
    const only = ['accepts-valid', 'bytes', 'alive-after-all']
    const report = await check(new Blocked(), { only, concurrency: 1 })
    expect(told(report, 'skipped')).toMatchObject({ 'bytes-chunked': 'the receiver answers nothing in time any more' })
    expect(told(report, 'pass')).toHaveProperty('alive-after-all')
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('concurrency') })
    expect(report.diagnosis?.follows).toEqual(Object.keys(told(report, 'fail', 'warn')))
  })

  it.each([
    ['side_by_side', 'the body of another request', true],
    [undefined, 'its own, but refuses some forms', false],
  ])('is %s for a receiver that reads %s', async (code, _what, isShared) => {
    class ReadsLater extends HandWritten {
      #body: Buffer = Buffer.alloc(0)

      override async read(request: IncomingMessage): Promise<Buffer> {
        const own = await super.read(request)
        this.#body = own
        await sleep(20)
        return isShared ? this.#body : own
      }

      override parse(body: Buffer) {
        const event = super.parse(body)
        return isShared || event?.type === 'contact.created' ? event : undefined
      }
    }
    const report = await check(new ReadsLater(), { only: ['bytes', 'meaning'] })
    expect(Object.keys(told(report, 'fail')).length).toBeGreaterThan(3)
    expect(report.diagnosis?.code).toBe(code)
    if (isShared) expect(report.diagnosis?.follows).toEqual(Object.keys(told(report, 'fail', 'warn')))
  })

  it('is missing for a receiver that lets only forgeries wait, and all checks are judged', async () => {
    const { end: endLimits } = holdLimits()
    class Tarpit extends HandWritten {
      override async answer(request: IncomingMessage): Promise<Answer> {
        const answer = await super.answer(request)
        return answer.status === 401 ? hang(endLimits) : answer
      }
    }
    const report = await check(new Tarpit(), { only: ['accepts-valid', 'signature', 'time'], concurrency: 1 })
    expect(report).not.toHaveProperty('diagnosis')
    expect(told(report, 'skipped')).toEqual({})
    expect(told(report, 'pass')).toHaveProperty('late-retry')
  })
})
