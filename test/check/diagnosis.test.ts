import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { checkReceiver, formatReport } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'
import { endsAfter } from './ends-after.ts'
import { type Answer, HandWritten, SECRET } from './faulty/hand-written.ts'
import { Reserialising, UnequalLengthCompare } from './faulty/signatures.ts'
import { told } from './judge.ts'
import { holdLimits } from './play.ts'

/** A few checks of each group that a diagnosis treats in its own way. */
const ONLY = [
  ...['accepts-valid', 'signature-missing', 'signature-null', 'signature-reserialised', 'get-not-2xx', 'leak'],
  ...['bytes-compact', 'bytes-pretty', 'unknown-type', 'late-retry', 'effect', 'alive-after-all'],
]

async function check(listener: RequestListener | HandWritten, only = ONLY) {
  const server = listener instanceof HandWritten ? listener.createServer() : createServer(listener)
  const { port, close } = await listen(server)
  const options = { secret: SECRET, only, timeoutMs: 5_000, patienceMs: 200 }
  return checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
}

/** Never answers, and ends the time limits of the deliveries under way. */
function hang(endLimits: () => void): Promise<Answer> {
  endLimits()
  return new Promise(() => {})
}

describe('the diagnosis', () => {
  it('is missing if a plain delivery is accepted', async () => {
    expect(await check(new HandWritten())).not.toHaveProperty('diagnosis')
  })

  it('reports other faults separately', async () => {
    class Receiver extends UnequalLengthCompare {
      override isGenuine(body: Buffer, request: Parameters<HandWritten['isGenuine']>[1]): boolean {
        return super.isGenuine(Buffer.from(JSON.stringify(JSON.parse(body.toString()))), request)
      }
    }
    const { diagnosis, checks } = await check(new Receiver())
    expect(diagnosis?.code).toBe('reserialised')
    expect(checks.find(({ id }) => id === 'signature-missing')?.status).toBe('fail')
    expect(diagnosis?.follows).not.toContain('signature-missing')
  })

  it.each([
    ['not_there', 404, /no such path/],
    ['not_there', 405, /does not take POST/],
    ['not_taken', 413, /larger than/],
    ['not_taken', 415, /content type/],
    ['redirect', 301, /does not follow redirects/],
  ])('is %s for the status %s, and nothing more is sent', async (code, status, text) => {
    let requests = 0
    const report = await check((request, response) => {
      requests++
      request.resume()
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect(report.diagnosis).toEqual({ code, text: expect.stringMatching(text), follows: [] })
    expect(Object.keys(told(report, 'fail'))).toEqual(['accepts-valid'])
    expect(report.summary.pass).toBe(0)
    expect(requests).toBe(code === 'redirect' ? 2 : 3) // one of them with a wrong signature
  })

  it.each([403, 404, 413, 422])(
    'is event_refused for %s to signed events, and another refusal to others',
    async (status) => {
      class OtherAccountsOnly extends HandWritten {
        override async receive() {
          return { status }
        }
      }
      const report = await check(new OtherAccountsOnly())
      expect(report.diagnosis).toMatchObject({ code: 'event_refused', text: expect.stringContaining('account key') })
      expect(report.diagnosis?.text).toContain(`${status} after`)
      const own = Object.keys(told(report, 'fail', 'warn')).filter((id) => !report.diagnosis?.follows.includes(id))
      expect(own).toEqual(['accepts-valid'])
    },
  )

  it('is event_refused for a receiver that fails at each event, and refuses a wrong signature', async () => {
    class NeedsItsAccount extends HandWritten {
      override write(): void {
        throw new Error('violates foreign key constraint')
      }
    }
    const { diagnosis } = await check(new NeedsItsAccount())
    expect(diagnosis).toMatchObject({ code: 'event_refused', text: expect.stringContaining('fails at the event: 500') })
    expect(diagnosis?.text).toContain('account key')
  })

  it('names the account key if everything is refused in the same way', async () => {
    class BindsItsSecret extends HandWritten {
      override async receive() {
        return { status: 401 }
      }
    }
    const { diagnosis } = await check(new BindsItsSecret())
    expect(diagnosis).toMatchObject({ code: 'refused', text: expect.stringContaining('account key') })
  })

  it('is put_off for a receiver that accepts no requests, and does not blame its secret', async () => {
    const report = await check((request, response) => {
      request.resume()
      response.writeHead(429, { 'retry-after': '1' }).end()
    })
    expect(report.diagnosis).toEqual({ code: 'put_off', text: expect.stringContaining('limits requests'), follows: [] })
    expect(Object.keys(told(report, 'fail'))).toEqual(['accepts-valid'])
  })

  it('is ended for a receiver whose process ends on the way, and reports the rest as consequences', async () => {
    const receiver = new HandWritten().createServer()
    const server = endsAfter(7, (request, response) => void receiver.emit('request', request, response))
    const { port } = await listen(server)
    const options = { secret: SECRET, skip: ['deadline'], concurrency: 1 }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options)
    const { code, text = '', follows = [] } = report.diagnosis ?? {}
    expect(code).toBe('ended')
    expect(text).toContain('nothing listened at')
    const own = Object.keys(told(report, 'fail', 'warn')).filter((id) => !follows.includes(id))
    expect(own).toHaveLength(1)
    expect(follows).toContain('alive-after-all')
    expect(formatReport(report, 'junit').split(text.slice(0, 40)).length - 1).toBe(follows.length)
    expect(Object.keys(told(report, 'pass'))).not.toContain('leak-stack')
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
          return answer ?? { status: 429, headers }
        }
      }
      const report = await check(new Bans(), ['accepts-valid', 'signature', 'bytes', 'time'])
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
    let requests = 0
    const receiver = new HandWritten().createServer()
    const server = createServer((request, response) => {
      if (++requests <= 1) receiver.emit('request', request, response)
      else response.writeHead(429, { 'retry-after': '60' }).end()
    })
    const { port, close } = await listen(server)
    const probe = { runs: async () => 1, fail: async () => {} }
    const options = { secret: SECRET, only: ['accepts-valid', 'effect-once'], patienceMs: 200, probe }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
    expect(report.summary).toMatchObject({ pass: 1, skipped: 1 })
    expect(report.diagnosis).toMatchObject({ code: 'put_off', follows: [] })
  })

  it('folds a burst of which nothing was accepted, once a limit is reached', async () => {
    let requests = 0
    const receiver = new HandWritten().createServer()
    const server = createServer((request, response) => {
      if (++requests <= 5) receiver.emit('request', request, response)
      else response.writeHead(429, { 'retry-after': '60' }).end()
    })
    const { port, close } = await listen(server)
    const options = { secret: SECRET, only: ['bytes', 'burst'], patienceMs: 200 }
    const { diagnosis, checks } = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
    expect(diagnosis).toMatchObject({ code: 'put_off', follows: expect.arrayContaining(['bytes-charset', 'burst']) })
    expect(checks.at(-1)).toMatchObject({ status: 'fail', reason: '50 × 429, put off for 60 s' })
  })

  it('is no_answer for a receiver that works on after a burst, and does not fold the burst', async () => {
    const { end: endLimits } = holdLimits()
    const receiver = new HandWritten().createServer()
    let [requests, answered] = [0, 0]
    // Answers a plain delivery and ten of the burst, and nothing else: its limits end when those have their answers.
    const endBurst = () => void (requests >= 51 && answered === 11 && setImmediate(endLimits))
    const server = createServer((request, response) => {
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
    })
    const { port, close } = await listen(server)
    const options = { secret: SECRET, only: ['accepts-valid', 'burst', 'alive-after-all'] }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('still works') })
    expect(report.diagnosis?.follows).toEqual(['alive-after-all'])
    expect(told(report, 'fail').burst).toBe('10 × 200, 40 × no answer within 10 s')
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
    const { port, close } = await listen(new GivesNothingBack().createServer())
    const options = { secret: SECRET, only: ['accepts-valid', 'signature', 'bytes', 'time'], concurrency: 1 }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('it hangs') })
    expect(report.diagnosis?.follows).toEqual(Object.keys(told(report, 'fail', 'warn')))
    expect(report.diagnosis?.follows.length).toBeGreaterThan(2)
    // Most checks would only wait.
    expect(told(report, 'skipped')).toMatchObject({ 'late-retry': 'the receiver hangs' })
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
    const { port, close } = await listen(new Blocked().createServer())
    const only = ['accepts-valid', 'bytes', 'alive-after-all']
    const options = { secret: SECRET, only, concurrency: 1 }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
    expect(told(report, 'skipped')).toMatchObject({ 'bytes-chunked': 'the receiver hangs' })
    expect(told(report, 'pass')).toHaveProperty('alive-after-all')
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('concurrency') })
    expect(report.diagnosis?.follows).toEqual(Object.keys(told(report, 'fail', 'warn')))
  })

  it('is missing for a receiver that lets only forgeries wait, and all checks are judged', async () => {
    const { end: endLimits } = holdLimits()
    class Tarpit extends HandWritten {
      override async answer(request: IncomingMessage): Promise<Answer> {
        const answer = await super.answer(request)
        return answer.status === 401 ? hang(endLimits) : answer
      }
    }
    const { port, close } = await listen(new Tarpit().createServer())
    const options = { secret: SECRET, only: ['accepts-valid', 'signature', 'time'], concurrency: 1 }
    const report = await checkReceiver(`http://127.0.0.1:${port}/webhooks`, options).finally(close)
    expect(report).not.toHaveProperty('diagnosis')
    expect(told(report, 'skipped')).toEqual({})
    expect(told(report, 'pass')).toHaveProperty('late-retry')
  })

  it('reports if a URL of http leads to a TLS server', async () => {
    const report = await check((request) => request.socket.destroy())
    expect(report.diagnosis?.text).toContain('begins with https')
  })

  it('is unreachable if nothing listens there', async () => {
    const report = await checkReceiver(`http://127.0.0.1:${await findFreePort()}/webhooks`, { secret: SECRET })
    expect(report.diagnosis).toMatchObject({
      code: 'unreachable',
      text: expect.stringContaining('Is your app running'),
    })
    const nowhere = await checkReceiver('http://nowhere.invalid/webhooks', { secret: SECRET, allowRemote: true })
    expect(nowhere.diagnosis).toMatchObject({ code: 'unreachable', text: expect.stringContaining('has no address') })
  })

  it('is no_answer for a receiver that is too slow', async () => {
    const report = await check(holdLimits().end)
    expect(report.diagnosis).toMatchObject({ code: 'no_answer', text: expect.stringContaining('Acknowledge first') })
    expect(Object.keys(told(report, 'fail'))).toEqual(['accepts-valid'])
  })

  it.each([
    ['server_error', (_request, response) => response.writeHead(500).end()],
    ['cut_off', (request) => request.socket.destroy()],
  ] satisfies readonly (readonly [string, RequestListener])[])(
    'is %s if the receiver fails',
    async (code, listener) => {
      const report = await check(listener)
      expect(report.diagnosis).toMatchObject({ code, text: expect.stringContaining('Its log says why') })
      expect(report.diagnosis?.follows).toContain('signature-missing')
    },
  )

  it('is given up if the same delivery is accepted the second time', async () => {
    let requests = 0
    const receiver = new HandWritten().createServer()
    const report = await check((request, response) => {
      if (++requests === 1) response.writeHead(503).end()
      else receiver.emit('request', request, response)
    })
    expect(report).not.toHaveProperty('diagnosis')
    expect(Object.keys(told(report, 'fail'))).toEqual(['accepts-valid'])
  })

  it('is first in each report, and folds its consequences', async () => {
    const report = await check(new Reserialising())
    const { text = '', follows = [] } = report.diagnosis ?? {}
    expect(JSON.parse(formatReport(report, 'json'))).toHaveProperty('diagnosis.text', text)
    const junit = formatReport(report, 'junit')
    expect(junit).toMatch(
      /<testcase name="accepts-valid".*><failure message="401[^"]*">The JSON is parsed and serialized again/,
    )
    expect(junit.match(/follows from accepts-valid/g)).toHaveLength(follows.length)
    const markdown = formatReport(report, 'markdown')
    expect(markdown).toContain(`**${text}**\n\n${follows.length} checks follow from this: \``)
    expect(markdown).not.toContain('### late-retry')
  })
})
