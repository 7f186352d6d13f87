import { createServer } from 'node:http'
import { checkReceiver, urlProbe } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'

/** A probe that sends the same answer to each question, and the questions that it got. */
async function startProbe(status: number, text: string) {
  const questions: string[] = []
  const { port, close } = await listen(
    createServer((request, response) => {
      questions.push(`${request.method} ${request.url}`)
      response.writeHead(status, { location: '/elsewhere' }).end(text)
    }),
  )
  onTestFinished(close)
  return { url: new URL(`http://127.0.0.1:${port}/probe?token=x`), questions }
}

it.each<readonly [runs: unknown, told: string]>([
  ['1', '"1"'],
  [1n, '1n'],
])('a probe in code that returns %s accuses no receiver', async (runs, told) => {
  const { url } = await startProbe(200, '')
  const probe = { runs: async () => runs as number, fail: async () => {} } // as databases return a count
  const { checks } = await checkReceiver(url, { secret: 'test-secret', only: ['effect-once'], probe })
  expect(checks).toMatchObject([{ status: 'fail', cause: 'probe_failed', reason: expect.any(String) }])
  expect(checks[0]?.reason).toContain(`the probe returned ${told}, not a number`)
  expect(checks[0]?.hint).toContain('This says nothing about the receiver')
})

describe('a probe over HTTP', () => {
  it('asks for the runs of an event, and orders its work to fail', async () => {
    const { url, questions } = await startProbe(200, '{"runs": 3}')
    const probe = urlProbe(url)
    expect(await probe.runs('evt_chk_1')).toBe(3)
    expect(await probe.fail('evt_chk_2')).toBeUndefined()
    expect(questions).toEqual(['GET /probe?token=x&id=evt_chk_1', 'POST /probe?token=x&id=evt_chk_2&fail=1'])
  })

  it('may return the bare number', async () => {
    expect(await urlProbe((await startProbe(200, '2')).url).runs('evt_chk_1')).toBe(2)
  })

  it.each([
    ['no success', 404, '{"runs": 1}', 'the probe answered 404'],
    ['a redirect', 302, '{"runs": 1}', 'the probe did not answer: unexpected redirect'],
    ['text', 200, '{"runs": "1"}', 'the probe returned "1", not a number'],
    ['less than nothing', 200, '-1', 'the probe returned -1, not a number'],
    ['nothing', 200, '{}', 'the probe returned neither a number nor { "runs": n }'],
    ['null', 200, 'null', 'the probe returned neither a number nor { "runs": n }'],
    ['HTML', 200, '<html>', 'the probe returned neither a number nor { "runs": n }'],
  ])('rejects %s', async (_what, status, text, message) => {
    await expect(urlProbe((await startProbe(status, text)).url).runs('evt_chk_1')).rejects.toThrow(message)
  })

  it('rejects an order to fail that was not taken', async () => {
    await expect(urlProbe((await startProbe(500, '')).url).fail('evt_chk_1')).rejects.toThrow('the probe answered 500')
  })

  it('asks again if the connection ended, once', async () => {
    let cuts = 1
    const server = createServer((request, response) => {
      if (cuts-- > 0) request.socket.destroy()
      else response.end('2')
    })
    const { port, close } = await listen(server)
    onTestFinished(close)
    const probe = urlProbe(`http://127.0.0.1:${port}/probe`)
    expect(await probe.runs('evt_chk_1')).toBe(2)
    cuts = 2
    await expect(probe.runs('evt_chk_1')).rejects.toThrow('the probe did not answer')
  })

  it('says why nothing answers', async () => {
    const probe = urlProbe(new URL(`http://127.0.0.1:${await findFreePort()}/probe`))
    await expect(probe.runs('evt_chk_1')).rejects.toThrow('the probe did not answer: the connection was refused')
  })
})
