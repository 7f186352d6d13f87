import { delimiter, dirname, join } from 'node:path'
import { type FetchCase, fetchCases, hostileCases } from './fetch-cases.ts'
import { Process } from './processes.ts'
import type { FetchTest } from './runtimes.ts'
import { SECRET, Target } from './target.ts'

/** The suite takes a few minutes; a run that takes this long hangs. */
const SUITE_LIMIT_MS = 20 * 60_000

export interface Result {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** The output to read after a failure. */
  readonly details: readonly string[]
}

/** Runs the whole test suite on a Node of this path. */
export async function runSuite(binary: string, root: string): Promise<Result> {
  const suite = new Process(binary, [join(root, 'node_modules/vitest/vitest.mjs'), 'run'], {
    cwd: root,
    env: { PATH: dirname(binary) + delimiter + process.env.PATH, NO_COLOR: '1' },
  })
  const timer = setTimeout(() => suite.stop(), SUITE_LIMIT_MS)
  const code = await suite.exit()
  clearTimeout(timer)
  // The last line on stdout; stderr may arrive after it.
  const sums = [...suite.output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)]
  const [, passed, failed, skipped = '0'] = sums.at(-1) ?? []
  const counts = { passed: Number(passed ?? 0), failed: Number(failed ?? 0), skipped: Number(skipped) }
  if (code === 0 && passed !== undefined && counts.failed === 0) return { ...counts, details: [] }
  return { ...counts, failed: Math.max(counts.failed, 1), details: [suite.output] }
}

/** Serves the programs of a prepared folder with a runtime, and sends them their cases. */
export async function runFetchCases(binary: string, { args, nodeArgs }: FetchTest, folder: string): Promise<Result> {
  const results = [await runCases(binary, args, folder, fetchCases)]
  for (const adapter of nodeArgs === undefined ? [] : ['node', 'express', 'fastify'])
    results.push(await runCases(binary, [...(nodeArgs ?? []), adapter], folder, hostileCases))
  const count = (what: 'passed' | 'failed') => results.reduce((sum, result) => sum + result[what], 0)
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: 0,
    details: results.flatMap(({ details }) => details),
  }
}

async function runCases(
  binary: string,
  args: readonly string[],
  folder: string,
  cases: readonly FetchCase[],
): Promise<Result> {
  const host = new Process(binary, args, { cwd: folder, env: { NO_COLOR: '1', WEBHOOK_SECRET: SECRET } })
  const details: string[] = []
  try {
    const [, port] = await host.says(/"port":\s*(\d+)/)
    const target = new Target(Number(port))
    for (const { name, run } of cases) {
      try {
        await run(target)
      } catch (error) {
        details.push(
          `${args.at(-1)}: ${name}\n${indent(error instanceof Error ? (error.stack ?? error.message) : String(error))}`,
        )
      }
    }
    if (details.length > 0) details.push(`the last that it wrote\n${indent(host.output.slice(-3_000))}`)
    const failed = Math.max(details.length - 1, 0)
    return { passed: cases.length - failed, failed, skipped: 0, details }
  } catch (error) {
    return { passed: 0, failed: cases.length, skipped: 0, details: [String(error)] }
  } finally {
    await host.stop()
  }
}

function indent(text: string): string {
  return text.trim().replaceAll(/^/gm, '    ')
}
