/**
 * Faults put into our own code by Stryker, and whether the tests notice them. `npm run test:long -- mutation`
 *
 * Stryker only sees tests fail. A fault that keeps a test file from loading fails no test, and a failure whose values cannot be
 * printed ends its runner: both are judged once more here, by a whole run of vitest on a copy of the tree with the fault in it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../support/repository.ts'
import { report } from './figures.ts'

/** The tests that have to notice, by folder, and what they are to notice faults in: judging each file by all tests would take a day. */
const GROUPS: Readonly<Record<string, string>> = {
  protocol: ['signature', 'envelope', 'head', 'dedup-key'].map((name) => `src/protocol/${name}.ts`).join(),
  store: 'src/store/memory-store.ts',
  receiver: 'src/receiver/*.ts',
  adapters: 'adapters/body.ts',
}
const REPORT = join(ROOT, '.data/mutation.json')
const LEAST_PERCENT = 90

interface Place {
  readonly line: number
  readonly column: number
}

interface Mutant {
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'RuntimeError' | 'CompileError'
  readonly static?: boolean
  readonly replacement: string
  readonly location: { readonly start: Place; readonly end: Place }
}

interface Mutated {
  readonly source: string
  readonly mutants: readonly Mutant[]
}

function run(command: string, args: readonly string[], cwd: string, tests: string, isLoud: boolean) {
  const env = {
    ...process.env,
    PATH: join(ROOT, 'node_modules/.bin') + delimiter + process.env.PATH,
    MUTATION_TESTS: tests,
  }
  const child = spawn(command, args, { cwd, env, stdio: isLoud ? 'inherit' : 'ignore' })
  return once(child, 'close').then(([code]: (number | null)[]) => code)
}

/** Whether a whole run of the tests fails on the source with this fault in it. */
async function isNoticed(file: string, { source }: Mutated, mutant: Mutant, tests: string, tree: string) {
  const lines = source.split('\n')
  const offsetOf = ({ line, column }: Place) =>
    lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1
  const { start, end } = mutant.location
  writeFileSync(join(tree, file), source.slice(0, offsetOf(start)) + mutant.replacement + source.slice(offsetOf(end)))
  const code = await run('vitest', ['run', '--config', 'vitest.mutation.config.ts', '--bail', '1'], tree, tests, false)
  writeFileSync(join(tree, file), source)
  return code !== 0
}

function makeTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'postern-mutants-'))
  for (const name of ['src', 'adapters', 'test', 'scripts', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  for (const name of ['vitest.config.ts', 'vitest.mutation.config.ts']) cpSync(join(ROOT, name), join(tree, name))
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

const [only] = process.argv.slice(2)
const tree = makeTree()
try {
  for (const [tests, mutate] of Object.entries(GROUPS)) {
    if (only !== undefined && only !== tests) continue
    const code = await run('stryker', ['run', '--mutate', mutate], ROOT, tests, true)
    if (code !== 0) throw new Error(`stryker ended with ${code}`)
    const { files } = JSON.parse(readFileSync(REPORT, 'utf8')) as { readonly files: Readonly<Record<string, Mutated>> } // Stryker's format
    for (const [file, mutated] of Object.entries(files)) {
      const counted = mutated.mutants.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError')
      if (counted.length === 0) continue
      let noticed = 0
      for (const mutant of counted) {
        const isUnclear = mutant.status === 'RuntimeError' || (mutant.status === 'Survived' && mutant.static === true)
        if (mutant.status === 'Killed' || mutant.status === 'Timeout') noticed++
        else if (isUnclear && (await isNoticed(file, mutated, mutant, tests, tree))) noticed++
      }
      const percent = (100 * noticed) / counted.length
      report({
        name: `mutants of ${file}`,
        measured: `${noticed} of ${counted.length} noticed, ${percent.toFixed(1)} %`,
        goal: `${LEAST_PERCENT} %`,
        isMet: percent >= LEAST_PERCENT,
      })
    }
  }
} finally {
  rmSync(tree, { recursive: true, force: true })
}
