import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { type Answer, type Event, HandWritten } from '../check/faulty/hand-written.ts'
import { runCli } from './run-cli.ts'

const FEW = ['--only', 'accepts-valid,late-retry']

async function start(receiver: HandWritten): Promise<string> {
  const { port, close } = await listen(receiver.createServer())
  onTestFinished(close)
  return `http://127.0.0.1:${port}/webhooks`
}

/** Runs `postern check` with a report in JSON, and returns the status of each check by its id. */
async function check(url: string, ...options: readonly string[]) {
  const { code, stdout } = await runCli(['check', url, ...options, '--json', '-'])
  const { checks = [] }: { checks?: readonly { readonly id: string; readonly status: string }[] } = JSON.parse(stdout)
  return { code, statuses: Object.fromEntries(checks.map(({ id, status }) => [id, status])) }
}

it('waits for an answer as long as --timeout says', async () => {
  class Slow extends HandWritten {
    override async handle(event: Event) {
      await sleep(150)
      return super.handle(event)
    }
  }
  const url = await start(new Slow())
  expect(await check(url, '--only', 'accepts-valid')).toMatchObject({ code: 0 })
  expect(await check(url, '--only', 'accepts-valid', '--timeout', '50ms')).toMatchObject({
    code: 1,
    statuses: { 'accepts-valid': 'fail' },
  })
})

it('lets a receiver put a delivery off as long as --patience says', async () => {
  class Busy extends HandWritten {
    override async receive(): Promise<Answer> {
      return { status: 503, headers: { 'retry-after': '5' } }
    }
  }
  const begin = performance.now()
  expect(await check(await start(new Busy()), '--only', 'accepts-valid', '--patience', '50ms')).toMatchObject({
    code: 1,
  })
  expect(performance.now() - begin).toBeLessThan(4_000)
})

it('leaves out what --skip names', async () => {
  const { code, statuses } = await check(await start(new HandWritten()), ...FEW, '--skip', 'late-retry')
  expect([code, statuses]).toEqual([0, { 'accepts-valid': 'pass', 'late-retry': 'skipped' }])
})

it('passes a receiver without warnings also if it is strict', async () => {
  expect(await check(await start(new HandWritten()), ...FEW, '--strict')).toMatchObject({ code: 0 })
})

it.each([
  ['an address', (url: string) => ['--probe', new URL('/probe', url).href]],
  ['a command', () => ['--probe-cmd', 'echo 1 #']],
])('counts the runs of an event by the probe: %s', async (_what, toOptions) => {
  const url = await start(new HandWritten())
  expect(await check(url, '--only', 'effect-once', ...toOptions(url))).toEqual({
    code: 0,
    statuses: { 'accepts-valid': 'pass', 'effect-once': 'pass' },
  })
})

it.each([
  ['no receiver', [], /^postern: Give the URL of the receiver\.\n$/],
  ['two probes', ['URL', '--probe', 'http://localhost/', '--probe-cmd', 'x'], /Give --probe or --probe-cmd, not both/],
  ['a probe that is no URL', ['URL', '--probe', 'localhost'], /--probe is not a URL/],
  [
    'the page of a check that there is not',
    ['--explain', 'late'],
    /There is no check "late"\. There are: .*accepts-valid, .*late-retry/,
  ],
])('refuses %s, and sends nothing', async (_what, args, message) => {
  const arrived = vi.fn()
  const { port, close } = await listen(createServer(arrived))
  onTestFinished(close)
  const given = args.map((arg) => arg.replace('URL', `http://127.0.0.1:${port}/`))
  expect(await runCli(['check', ...given])).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(message) })
  expect(arrived).not.toHaveBeenCalled()
})

it('goes to a host that is not this machine with --yes', async () => {
  expect(await check('https://0.0.0.0:1/', '--only', 'https', '--yes')).toEqual({
    code: 3,
    statuses: { 'accepts-valid': 'fail', https: 'skipped' },
  })
})

it.each([
  ['every 2 s at a terminal', true, 1_900, 200],
  ['every 10 s elsewhere', false, 9_900, 200],
])('tells how many checks are done %s, while a receiver is slow', async (_what, isTTY, before, after) => {
  // The clock of this process jumps while the receiver works.
  let ahead = 0
  const now = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
  onTestFinished(() => void vi.restoreAllMocks())
  const jumps = [before, after, before + after]
  class Slow extends HandWritten {
    override async handle(event: Event) {
      ahead += jumps.shift() ?? 0
      return super.handle(event)
    }
  }
  const url = await start(new Slow())
  const three = ['--only', 'accepts-valid,bytes-chunked,late-retry', '--concurrency', '1']
  const { code, stderr } = await runCli(['check', url, ...three], { isTTY })
  expect([code, stderr]).toEqual([0, '2 of 3 checks done\n'])
})
