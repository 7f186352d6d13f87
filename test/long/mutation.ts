/**
 * Plants faults in the code with Stryker, and reports whether the tests notice them. `npm run test:long -- mutation`, or `npx tsx
 * test/long/mutation.ts src/receiver/lease.ts` for some files.
 *
 * Each file is judged by the tests that were written for it, since all tests for each fault would take a day. If those miss the goal, each
 * fault that they miss is judged again by all tests of the folder, on a copy of the tree with the fault in it. That also judges faults that
 * Stryker can't: one that keeps a test file from loading fails no test for it, and some failures end its runner.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../support/repository.ts'
import { type Figure, report } from './figures.ts'
import { FILES } from './mutated-files.ts'

const REPORT = join(ROOT, '.data/mutation.json')
/** Copies of the tree that judge faults at the same time: the tests wait for timers most of their time. */
const COPIES = 3

interface Place {
  readonly line: number
  readonly column: number
}

interface Mutant {
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'RuntimeError' | 'CompileError'
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

/** Returns whether the tests pass on a copy of the tree. */
async function isPassing(tests: string, tree: string): Promise<boolean> {
  const code = await run('vitest', ['run', '--config', 'vitest.mutation.config.ts', '--bail', '1'], tree, tests, false)
  return code === 0
}

/** Returns whether the tests fail on the source with this fault in it. */
async function isNoticed(file: string, { source }: Mutated, mutant: Mutant, tests: string, tree: string) {
  const lines = source.split('\n')
  const offsetOf = ({ line, column }: Place) =>
    lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1
  const { start, end } = mutant.location
  writeFileSync(join(tree, file), source.slice(0, offsetOf(start)) + mutant.replacement + source.slice(offsetOf(end)))
  const wasPassing = await isPassing(tests, tree)
  writeFileSync(join(tree, file), source)
  return !wasPassing
}

function makeTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'postern-mutants-'))
  for (const name of ['src', 'adapters', 'test', 'scripts', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  for (const name of ['vitest.config.ts', 'vitest.mutation.config.ts']) cpSync(join(ROOT, name), join(tree, name))
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

const names = process.argv.slice(2)
const stray = names.find((name) => !FILES.some(({ file }) => file === name))
if (stray !== undefined)
  throw new Error(`${stray} is not judged here. Files: ${FILES.map(({ file }) => file).join(', ')}`)

const figures: Figure[] = []
const trees = Array.from({ length: COPIES }, makeTree)
try {
  for (const { file, tests, allTests, leastPercent } of FILES) {
    if (names.length > 0 && !names.includes(file)) continue
    const code = await run('stryker', ['run', '--mutate', file], ROOT, tests, true)
    if (code !== 0) throw new Error(`stryker ended with ${code}`)
    const { files } = JSON.parse(readFileSync(REPORT, 'utf8')) as { readonly files: Readonly<Record<string, Mutated>> } // Stryker's format
    const mutated = files[file] ?? { source: '', mutants: [] }
    const counted = mutated.mutants.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError')
    if (counted.length === 0) continue // types only
    const missed = counted.filter(({ status }) => status !== 'Killed' && status !== 'Timeout')
    let noticed = counted.length - missed.length
    const toPercent = () => (100 * noticed) / counted.length
    if (toPercent() >= leastPercent) missed.length = 0
    // Tests that fail without a fault would notice everything.
    const isSound = await Promise.all(missed.length === 0 ? [] : trees.map((tree) => isPassing(allTests, tree)))
    if (isSound.includes(false)) throw new Error(`${allTests} fail without a fault`)
    const judge = async (tree: string) => {
      for (let mutant = missed.shift(); mutant !== undefined; mutant = missed.shift())
        if (await isNoticed(file, mutated, mutant, allTests, tree)) noticed++
        else console.log(`unnoticed: ${file}:${mutant.location.start.line} ${mutant.replacement}`)
    }
    await Promise.all(trees.map(judge))
    const percent = toPercent()
    const figure = {
      name: `mutants of ${file}`,
      measured: `${noticed} of ${counted.length} noticed, ${percent.toFixed(1)} %`,
      goal: `${leastPercent} %`,
      isMet: percent >= leastPercent,
    }
    report(figure)
    figures.push(figure)
  }
  console.log('\nEvery file:')
  for (const figure of figures) report(figure)
} finally {
  for (const tree of trees) rmSync(tree, { recursive: true, force: true })
}
