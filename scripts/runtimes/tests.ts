import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { postgresProgram, startPostgres } from '../../test/engines/postgres-server.ts'
import { redisProgram, startRedis } from '../../test/engines/redis-server.ts'
import { type CheckResult, checkReceiver, urlProbe } from '../../tools/check/check.ts'
import { type FetchCase, fetchCases, nodeCases } from './fetch-cases.ts'
import { Process } from './processes.ts'
import type { Runtime } from './runtimes.ts'
import { SECRET, Target } from './target.ts'

/** The whole suite takes a few minutes; a run that takes this long hangs. */
const SUITE_LIMIT_MS = 20 * 60_000

export interface Result {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The output to read after a failure. */
  readonly details: readonly string[]
}

/** Place of a runtime's tests: its binary, this repository, and the folder that prepare.ts makes. */
interface Place {
  readonly binary: string
  readonly root: string
  readonly folder: string
}

/** One line of the result: a host or an engine that is tested on a runtime. */
export interface Combination {
  readonly what: string
  run(place: Place): Promise<Result>
}

/** Everything that is tested on a runtime. */
export function combinationsOf({ serve, run, drivers, hasTests }: Runtime): readonly Combination[] {
  const onServer = (what: string, args: readonly string[], cases: readonly FetchCase[]): Combination => ({
    what,
    run: ({ binary, folder }) => runCases(binary, args, folder, cases),
  })
  const found: Combination[] = []
  if (serve !== undefined) found.push(onServer('postern/web, its own server', serve, fetchCases))
  if (run !== undefined) {
    for (const adapter of ['node', 'express', 'fastify'])
      found.push(onServer(`postern/${adapter}`, [...run, 'app/node.js', adapter], nodeCases))
    found.push(...suitesOf(run, drivers))
  }
  if (hasTests) found.push({ what: 'the whole test suite', run: runTests })
  return found
}

/** The contracts of the stores and of the inbox, with each client. */
function suitesOf(command: readonly string[], drivers: Runtime['drivers']): readonly Combination[] {
  const suite = (name: string, client: string, make?: () => Promise<Engine>): Combination => ({
    what: `${name}, ${client}`,
    run({ binary, folder }) {
      const run = (env?: NodeJS.ProcessEnv) =>
        runSuite(binary, [...command, 'app/suites.js', name, client], folder, env)
      return make === undefined ? run() : runOnEngine(make, run)
    },
  })
  return [
    ...drivers.flatMap((driver) => [suite('sqliteStore', driver), suite('sqliteInbox', driver)]),
    ...(redisProgram === undefined
      ? []
      : [suite('redisStore', 'redis', makeRedis), suite('redisStore', 'ioredis', makeRedis)]),
    ...(postgresProgram === undefined ? [] : [suite('postgresStore', 'pg', makePostgres)]),
  ]
}

/** Runs the whole test suite of this repository. */
function runTests({ binary, root }: Place): Promise<Result> {
  const env = { PATH: dirname(binary) + delimiter + process.env.PATH }
  return runSuite(binary, [join(root, 'node_modules/vitest/vitest.mjs'), 'run'], root, env)
}

/** Runs a program that ends with the counts of its tests. */
async function runSuite(
  binary: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Result> {
  const suite = new Process(binary, args, { cwd, env: { ...env, NO_COLOR: '1' } })
  const timer = setTimeout(() => suite.stop(), SUITE_LIMIT_MS)
  const code = await suite.exit()
  clearTimeout(timer)
  // The last line on stdout; stderr may arrive after it.
  const sums = [...suite.output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)]
  const [, passed, failed, skipped = '0'] = sums.at(-1) ?? []
  const counts = { passed: Number(passed ?? 0), failed: Number(failed ?? 0), skipped: Number(skipped) }
  if (code === 0 && counts.passed > 0 && counts.failed === 0) return { ...counts, details: [] }
  return { ...counts, failed: Math.max(counts.failed, 1), details: [suite.output] }
}

/** An engine of its own for each suite. */
interface Engine {
  readonly url: string
  kill(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

async function makeRedis(): Promise<Engine> {
  const server = await startRedis()
  return { ...server, kill: () => server.kill('SIGKILL') }
}

async function makePostgres(): Promise<Engine> {
  const server = await startPostgres()
  return { ...server, kill: () => server.kill('SIGINT') }
}

/** Runs a suite with an engine, which it takes away and brings back by requests. */
async function runOnEngine(make: () => Promise<Engine>, run: (env: NodeJS.ProcessEnv) => Promise<Result>) {
  const engine = await make()
  const control = createServer(async ({ url }, response) => {
    await (url === '/begin' ? engine.kill() : engine.start())
    response.end()
  }).listen(0, '127.0.0.1')
  await once(control, 'listening')
  try {
    const { port } = control.address() as AddressInfo // it listens on TCP
    return await run({ ENGINE_URL: engine.url, CONTROL_URL: `http://127.0.0.1:${port}` })
  } finally {
    control.close()
    await engine.remove()
  }
}

/** Serves a program with a runtime, sends it the cases, and then the deliveries of the checker. */
async function runCases(
  binary: string,
  args: readonly string[],
  folder: string,
  cases: readonly FetchCase[],
): Promise<Result> {
  const host = new Process(binary, args, { cwd: folder, env: { NO_COLOR: '1', WEBHOOK_SECRET: SECRET } })
  const details: string[] = []
  try {
    const [, found] = await host.says(/"port":\s*(\d+)/)
    const port = Number(found)
    const target = new Target(port)
    for (const { name, run } of cases) {
      try {
        await run(target)
      } catch (error) {
        details.push(`${name}\n${indent(error instanceof Error ? (error.stack ?? error.message) : String(error))}`)
      }
    }
    const checks = await runChecker(`http://127.0.0.1:${port}`)
    const complaints = checks.filter(({ status }) => status !== 'pass')
    const failed = details.length + complaints.length
    for (const { id, status, reason } of complaints)
      if (status !== 'skipped') details.push(`postern check: ${id}: ${status}: ${reason}`)
    if (failed > 0) details.push(`the last that it wrote\n${indent(host.output.slice(-3_000))}`)
    return { passed: cases.length + checks.length - failed, failed, skipped: 0, details }
  } catch (error) {
    return { passed: 0, failed: cases.length, skipped: 0, details: [String(error)] }
  } finally {
    await host.stop()
  }
}

/** Returns the result of every check. One that a busy machine may have failed runs once more. */
async function runChecker(origin: string): Promise<readonly CheckResult[]> {
  const options = { secret: SECRET, probe: urlProbe(new URL('/probe', origin)) }
  const { checks } = await checkReceiver(`${origin}/webhooks`, options)
  const found = checks.filter(({ status }) => status !== 'pass').map(({ id }) => id)
  if (found.length === 0) return checks
  const again = await checkReceiver(`${origin}/webhooks`, { ...options, only: found })
  return checks.map((check) => again.checks.find(({ id }) => id === check.id) ?? check)
}

function indent(text: string): string {
  return text.trim().replaceAll(/^/gm, '    ')
}
