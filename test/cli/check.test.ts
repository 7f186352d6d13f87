import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { formatStanding } from '../../tools/cli/commands/check.ts'
import { listen } from '../adapters/http/hosts.ts'
import { FiveMinuteTolerance, NeedsLength } from '../check/faulty/deliveries.ts'
import { type Answer, type Event, HandWritten } from '../check/faulty/hand-written.ts'
import { Reserialising } from '../check/faulty/signatures.ts'
import { Gate } from '../support/gate.ts'
import { findFreePort } from '../support/programs.ts'
import { startWatch } from '../support/watch.ts'
import { useFolder } from './folder.ts'
import { ended, runCli, startCli } from './run-cli.ts'

const folder = useFolder()

async function start(receiver: HandWritten): Promise<string> {
  const { port, close } = await listen(receiver.createServer())
  onTestFinished(close)
  return `http://127.0.0.1:${port}/webhooks`
}

describe('postern check', () => {
  const FEW = ['--only', 'accepts-valid,bytes-chunked', '--only', 'late-retry']

  it('exits 0 if nothing fails, and prints the passes', async () => {
    const { code, stdout } = await runCli(['check', await start(new HandWritten()), ...FEW])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pass {4}late-retry +200 after \d+ ms$/m)
    expect(stdout).toMatch(/: 0 failed, 0 warnings, 3 passed\n$/)
  })

  it('exits 1 if a check fails, and prints that first, with all help for the fix', async () => {
    const { code, stdout } = await runCli(['check', await start(new FiveMinuteTolerance()), ...FEW])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^fail {4}late-retry +400 after/)
    for (const label of ['sent: ', 'expected: ', 'came back: ', 'why: ', 'hint: ', 'explained: npx postern check'])
      expect(stdout).toContain(`          ${label}`)
    expect(stdout).toContain("again: curl -i 'http://127.0.0.1")
    expect(stdout).not.toContain('\u001b')
  })

  it('reports first why nothing is accepted, and folds the consequences', async () => {
    const url = await start(new Reserialising())
    const { code, stdout } = await runCli(['check', url, ...FEW])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^The JSON is parsed and serialized again .*\n2 checks follow from this; --all shows them\n\nfail {4}accepts-valid/,
    )
    expect(stdout).not.toContain('late-retry')
    expect((await runCli(['check', url, ...FEW, '--all'])).stdout).toMatch(/^fail {4}late-retry/m)
  })

  it('counts warnings only if it is strict', async () => {
    const url = await start(new NeedsLength())
    expect((await runCli(['check', url, ...FEW])).code).toBe(0)
    expect((await runCli(['check', url, ...FEW, '--strict'])).code).toBe(1)
    expect((await runCli(['check', await start(new HandWritten()), ...FEW, '--strict'])).code).toBe(0)
  })

  it.each([
    [['a', 'b', 'c'], 'a, b, c'],
    [['a', 'b', 'c', 'd', 'e'], 'a, b, c and 2 more'],
    [[], 'deliveries that tell the cause'],
  ])('names up to three of the checks under way: %j', (running, text) => {
    const standing = formatStanding({ done: 7, total: 9, running })
    expect(standing).toBe(`7 of 9 checks done, waiting for ${text}`)
  })

  it('writes reports: one object to standard output, the others to files', async () => {
    const url = await start(new HandWritten())
    const files = { junit: folder.at('report.xml'), md: folder.at('report.md') }
    const { code, stdout } = await runCli(
      `check ${url} ${FEW.join(' ')} --json - --junit ${files.junit} --md ${files.md}`,
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ schema: 1, tool: 'postern', summary: { pass: 3 } })
    expect(await readFile(files.junit, 'utf8')).toContain('<testsuites')
    expect(await readFile(files.md, 'utf8')).toContain('## postern check')
    expect((await runCli(['check', url, ...FEW, '--md', '/nowhere/at/all'])).code).toBe(2)
  })

  it('writes the other reports if one cannot be written', async () => {
    const url = await start(new HandWritten())
    const junit = folder.at('other.xml')
    const { code, stderr } = await runCli(['check', url, ...FEW, '--json', '/nowhere/at/all', '--junit', junit])
    expect(code).toBe(2)
    expect(stderr).toContain('/nowhere/at/all cannot be written')
    expect(await readFile(junit, 'utf8')).toContain('<testsuites')
  })

  it('exits 1 if every check was skipped, and reports it', async () => {
    const url = await start(new HandWritten())
    const { code, stderr } = await runCli(['check', url, '--only', 'effect-once'])
    expect(code).toBe(1)
    expect(stderr).toBe('Nothing was judged: every check was skipped.\n')
  })

  it('exits 1 if a check could not judge, and names it; and lists what is not checked, a crash first', async () => {
    class DefersForgeries extends HandWritten {
      override refuse(): Answer {
        return { status: 503, headers: { 'retry-after': '60' } }
      }
    }
    const url = await start(new DefersForgeries())
    const probe = url.replace('/webhooks', '/probe')
    const only = ['--only', 'effect-none-refused,text-quotes', '--patience', '500ms', '--probe', probe]
    const { code, stdout, stderr } = await runCli(['check', url, ...only])
    expect(code).toBe(1)
    expect(stderr).toMatch(/Not judged, and therefore not passed: effect-none-refused\.\n$/)
    expect(stdout).toMatch(
      /\n\nNot checked:\n- Survival of a crash: .*\n- 1 skipped check: effect-none-refused \(the event was not acc/,
    )
  })

  it('judges the type that the owner names, and refuses a misspelt one', async () => {
    class KnowsInvoices extends HandWritten {
      override async handle(event: Event): Promise<Answer> {
        return event.type.startsWith('financeInvoice.') ? super.handle(event) : { status: 422 }
      }
    }
    const url = await start(new KnowsInvoices())
    const check = (type: string) => runCli(['check', url, '--only', 'accepts-valid', '--type', type])
    expect((await check('financeInvoice.*')).code).toBe(0)
    expect(await check('financeInvoise.*')).toEqual(ended(2, 'financeInvoice.*'))
  })

  it('exits 1 if a limit kept checks from judging the receiver, though none failed', async () => {
    let requests = 0
    const server = createServer((_request, response) => response.writeHead(++requests > 1 ? 429 : 200).end())
    const { port, close } = await listen(server)
    onTestFinished(close)
    const { code, stdout } = await runCli(['check', `http://127.0.0.1:${port}/`, '--only', 'leak'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^The receiver, or something in front of it, limits requests/)
    expect(stdout).toContain(' 0 failed, 0 warnings')
  })

  it('exits 2 for a host that is not this machine, and 3 if nothing answers', async () => {
    expect(await runCli('check http://hooks.example.test/')).toEqual(ended(2, '--yes'))
    const url = `http://127.0.0.1:${await findFreePort()}/`
    const { code, stdout } = await runCli(['check', url])
    expect(code).toBe(3)
    expect(stdout).toMatch(/^refused: nothing listens at [^\n]+\n\S+: 1 failed, 0 warnings, 0 passed, \d+ skipped\n$/)
    expect((await runCli(['check', url, '--all'])).stdout).toMatch(/^skipped alive-after-all/m)
  })

  it('exits 130 when interrupted, with a summary of its results', async () => {
    const stop = new AbortController()
    const { port, close } = await listen(
      createServer((request, response) => {
        stop.abort()
        request.resume().on('end', () => response.end())
      }),
    )
    onTestFinished(close)
    const result = await runCli(['check', `http://127.0.0.1:${port}/`], { interrupt: stop.signal })
    expect(result.code).toBe(130)
    expect(result.stdout).toMatch(/1 passed, \d+ skipped\n$/)
  })

  it('folds the checks that it left out if there is no receiver', async () => {
    const { port, close } = await listen(createServer((_request, response) => response.writeHead(404).end()))
    onTestFinished(close)
    const { code, stdout } = await runCli(['check', `http://127.0.0.1:${port}/`])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^404: .*\n\d+ checks follow from this; --all shows them\n\nfail {4}accepts-valid/)
    expect(stdout).not.toMatch(/^skipped/m)
  })

  it('prints the page of a check', async () => {
    const { code, stdout } = await runCli(['check', '--explain', 'late-retry'], { env: {} })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^# late-retry\n/)
  })
})

const TWO = ['--only', 'accepts-valid,late-retry']

/** Runs `postern check` with a report in JSON, and returns the status of each check by its id. */
async function check(url: string, ...options: readonly string[]) {
  const { code, stdout } = await runCli(['check', url, ...options, '--json', '-'])
  const { checks = [] }: { checks?: readonly { readonly id: string; readonly status: string }[] } = JSON.parse(stdout)
  return { code, statuses: Object.fromEntries(checks.map(({ id, status }) => [id, status])) }
}

it('waits for an answer as long as --timeout says', async () => {
  class Slow extends HandWritten {
    override async handle(event: Event) {
      await sleep(300)
      return super.handle(event)
    }
  }
  const url = await start(new Slow())
  expect(await check(url, '--only', 'accepts-valid')).toMatchObject({ code: 0 })
  const failed = { code: 1, statuses: { 'accepts-valid': 'fail' } }
  expect(await check(url, '--only', 'accepts-valid', '--timeout', '100ms')).toEqual(failed)
})

it('lets a receiver put a delivery off as long as --patience says', async () => {
  class Busy extends HandWritten {
    override async receive(): Promise<Answer> {
      return { status: 503, headers: { 'retry-after': '5' } }
    }
  }
  const watch = startWatch()
  expect((await check(await start(new Busy()), '--only', 'accepts-valid', '--patience', '50ms')).code).toBe(1)
  expect(watch()).toBeLessThan(4_000)
})

it('leaves out what --skip names', async () => {
  const { code, statuses } = await check(await start(new HandWritten()), ...TWO, '--skip', 'late-retry')
  expect([code, statuses]).toEqual([0, { 'accepts-valid': 'pass', 'late-retry': 'skipped' }])
})

it.each([
  ['an address', (url: string) => ['--probe', new URL('/probe', url).href]],
  ['a command', () => ['--probe-cmd', 'echo 1 #']],
])('counts the runs of an event by the probe: %s', async (_what, toOptions) => {
  const url = await start(new HandWritten())
  const passed = { code: 0, statuses: { 'accepts-valid': 'pass', 'effect-once': 'pass' } }
  expect(await check(url, '--only', 'effect-once', ...toOptions(url))).toEqual(passed)
})

it.each([
  ['answers 404', '/none', 'could not be judged: the probe answered 404'],
  ['always says 0', '/zero', 'the probe counts no such work'],
])('fails with a probe that %s, though no check of the work is asked for', async (_what, path, told) => {
  const url = await start(new HandWritten())
  const { port, close } = await listen(
    createServer(({ url = '' }, response) => response.writeHead(url.startsWith('/zero') ? 200 : 404).end('0')),
  )
  onTestFinished(close)
  const args = ['--only', 'header-lower-case', '--patience', '500ms', '--probe', `http://127.0.0.1:${port}${path}`]
  const { code, stdout } = await runCli(['check', url, ...args])
  expect([code, stdout]).toEqual([1, expect.stringMatching(new RegExp(`^fail +accepts-valid +${told}`, 'm'))])
})

it.each([
  ['no receiver', [], /^postern: Give the URL of the receiver\.\n$/],
  ['two probes', ['URL', '--probe', 'http://localhost/', '--probe-cmd', 'x'], /Give --probe or --probe-cmd, not both/],
  ['the URL as the file of the report', ['--json', 'URL'], /--json http.* is a URL, not the file .* --json - for/],
  ['two reports in one file', ['URL', '--junit', 'r.xml', '--md', './r.xml'], /Two reports go to .*r\.xml: give each/],
  ['a probe that is no URL', ['URL', '--probe', 'localhost'], /--probe is not a URL/],
  ['the page of an unknown check', ['--explain', 'late'], /There is no check "late"\. There are: .*accepts-valid, /],
])('refuses %s, and sends nothing', async (_what, args, message) => {
  const arrived = vi.fn()
  const { port, close } = await listen(createServer(arrived))
  onTestFinished(close)
  const given = args.map((arg) => arg.replace('URL', `http://127.0.0.1:${port}/`))
  expect(await runCli(['check', ...given])).toEqual(ended(2, message))
  expect(arrived).not.toHaveBeenCalled()
})

it('goes to a host that is not this machine with --yes', async () => {
  const sent = { code: 3, statuses: { 'accepts-valid': 'fail', https: 'skipped' } }
  expect(await check('https://0.0.0.0:1/', '--only', 'https', '--yes')).toEqual(sent)
})

it('tells how many checks are done, and what it waits for, while a receiver is slow', async () => {
  const reported = new Gate()
  class Slow extends HandWritten {
    override async handle(event: Event) {
      if (++handled === 3) await reported.promise
      return super.handle(event)
    }
  }
  let handled = 0
  const three = '--only accepts-valid,bytes-chunked,late-retry --concurrency 1'
  const running = startCli(`check ${await start(new Slow())} ${three}`)
  await running.until(/^2 of 3 checks done, waiting for late-retry\n/m)
  reported.open()
  expect(await running.exitCode).toBe(0)
})

it('shows no progress, and ends, if there is no secret', async () => {
  const running = startCli('check http://127.0.0.1:9/', { env: {} })
  expect(await running.exitCode).toBe(2)
  await sleep(1_400)
  expect(running.stderr).not.toContain('checks done')
})
