/** `npm run runtimes`: the adapters, stores and the inbox on each runtime, and the whole test suite on every supported Node. */
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from './install.ts'
import { prepare } from './prepare.ts'
import { killAll } from './processes.ts'
import { RUNTIMES, type Runtime } from './runtimes.ts'
import { combinationsOf, type Result } from './tests.ts'

const names = [...new Set(RUNTIMES.map(({ name }) => name))]
const USAGE = `usage: npm run runtimes -- [--only ${names.join(',')}]

Runs the checker and hostile senders against the adapters, the suites of the stores and the inbox, and on Node the
whole test suite. Each runtime comes from the npm registry, once, into ~/.cache/postern-runtimes (or below
XDG_CACHE_HOME). Exits with 1 if anything failed.`

const root = fileURLToPath(new URL('../../', import.meta.url))

async function main(): Promise<void> {
  const chosen = choose()
  if (chosen === undefined) return
  process.chdir(root) // paths in tsup's settings are relative to this folder
  const folder = await mkdtemp(join(tmpdir(), 'postern-runtimes-'))
  const cleanUp = () => {
    killAll()
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', cleanUp)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

  await prepare(root, folder)
  const rows: (readonly string[])[] = []
  for (const runtime of chosen) {
    const title = `${runtime.title} ${runtime.version}`
    for (const { what, run } of combinationsOf(runtime)) {
      const startedAt = performance.now()
      const result = await install(runtime)
        .then((binary) => run({ binary, root, folder }))
        .catch(toFailure)
      const seconds = `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`
      for (const detail of result.details) console.error(`\n--- ${title}, ${what}: ${detail}`)
      console.error(`${title}, ${what}: ${sum(result)} (${seconds})`)
      rows.push([title, what, sum(result), seconds])
      if (result.failed > 0) process.exitCode = 1
    }
  }
  printTable([['runtime', 'what', 'result', 'time'], ...rows])
}

function choose(): readonly Runtime[] | undefined {
  let only: string | undefined
  try {
    const { values } = parseArgs({ options: { only: { type: 'string' }, help: { type: 'boolean' } } })
    if (values.help === true) {
      console.log(USAGE)
      return undefined
    }
    only = values.only
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  if (only === undefined) return RUNTIMES
  const wanted = only.split(',')
  const stray = wanted.find((name) => !names.includes(name))
  return stray === undefined ? RUNTIMES.filter(({ name }) => wanted.includes(name)) : refuse(`no runtime "${stray}"`)
}

function refuse(why: string): undefined {
  console.error(`${why}\n\n${USAGE}`)
  process.exitCode = 2
}

function toFailure(error: unknown): Result {
  return { passed: 0, failed: 1, skipped: 0, details: [error instanceof Error ? error.message : String(error)] }
}

function sum({ passed, failed, skipped }: Result): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function printTable(rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  console.log(
    `\n${rows
      .map((row) =>
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      )
      .join('\n')}`,
  )
}

await main()
