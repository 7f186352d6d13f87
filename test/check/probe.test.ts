import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandProbe, urlProbe } from 'postern/check'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { findFreePort } from '../support/programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'postern-probe-'))
afterAll(() => rmSync(folder, { recursive: true }))

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

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
    ['text', 200, '{"runs": "1"}', 'the probe returned neither a number nor { "runs": n }'],
    ['nothing', 200, '{}', 'the probe returned neither a number nor { "runs": n }'],
    ['null', 200, 'null', 'the probe returned neither a number nor { "runs": n }'],
    ['HTML', 200, '<html>', 'the probe returned neither a number nor { "runs": n }'],
  ])('rejects %s', async (_what, status, text, message) => {
    await expect(urlProbe((await startProbe(status, text)).url).runs('evt_chk_1')).rejects.toThrow(message)
  })

  it('rejects an order to fail that was not taken', async () => {
    await expect(urlProbe((await startProbe(500, '')).url).fail('evt_chk_1')).rejects.toThrow('the probe answered 500')
  })

  it('says why nothing answers', async () => {
    const probe = urlProbe(new URL(`http://127.0.0.1:${await findFreePort()}/probe`))
    await expect(probe.runs('evt_chk_1')).rejects.toThrow('the probe did not answer: the connection was refused')
  })
})

describe('a probe that is a command', () => {
  const node = `${process.execPath} -e`

  it('gets the word and the id as arguments', async () => {
    const probe = commandProbe(`${node} "console.log(process.argv.slice(1).join() === 'runs,evt_chk_1' ? 3 : 0)"`)
    expect(await probe.runs('evt_chk_1')).toBe(3)
    expect(await probe.fail('evt_chk_1')).toBeUndefined()
    await expect(
      commandProbe(`${node} "process.exit(process.argv[1] === 'fail' ? 7 : 0)"`).fail('evt_chk_1'),
    ).rejects.toThrow('the probe command ended with code 7')
  })

  it('has nothing to read', async () => {
    expect(await commandProbe('cat; echo 2 #').runs('evt_chk_1')).toBe(2)
  })

  it('may print JSON', async () => {
    expect(await commandProbe(`echo '{"runs": 2}' #`).runs('evt_chk_1')).toBe(2)
  })

  it('is rejected if it fails, even if it has printed a number', async () => {
    await expect(commandProbe('echo 1; exit 7;').runs('evt_chk_1')).rejects.toThrow('code 7')
  })

  it('is ended with all its processes if it does not end within 10 s', async () => {
    const file = join(folder, 'pid')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    const ending = expect(commandProbe(`sleep 60 & echo $! > ${file}; wait; echo`).runs('evt_chk_1')).rejects.toThrow(
      'the probe command did not end within 10 s',
    )
    await expect.poll(() => existsSync(file) && readFileSync(file, 'utf8')).toMatch(/^\d+\n/)
    vi.advanceTimersByTime(10_000)
    await ending
    vi.useRealTimers()
    const child = Number(readFileSync(file, 'utf8'))
    onTestFinished(() => {
      if (isRunning(child)) process.kill(child)
    })
    await expect.poll(() => isRunning(child)).toBe(false)
  })

  it('leaves no timer behind once it has ended', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    await commandProbe('echo 1; :').runs('evt_chk_1')
    expect(vi.getTimerCount()).toBe(0)
  })
})
