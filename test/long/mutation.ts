/**
 * Faults put into our own code by Stryker, and whether the tests notice them. `npm run test:long -- mutation`, or
 * `npx tsx test/long/mutation.ts src/receiver/lease.ts` for some files.
 *
 * Each file is judged by the tests that were written for it, since all tests for each fault would take a day; what those miss is
 * judged once more by all tests of the folder, on a copy of the tree with the fault in it. That also judges what Stryker can't: a
 * fault that keeps a test file from loading fails no test for it, and some failures end its runner.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../support/repository.ts'
import { report } from './figures.ts'

const PROTOCOL = 'protocol/**/*'
const RECEIVER = 'receiver/**/*'
const TYPES_ONLY = ['src/receiver/receiver.ts', 'src/receiver/handler.ts']

interface Judged {
  readonly file: string
  /** Written for it. Named below test/, with commas, as is the next one. */
  readonly tests: string
  readonly allTests: string
}

/** Tests of a file of the receiver, if they are not those of its own name only. */
const RECEIVER_TESTS: Readonly<Record<string, readonly string[]>> = {
  attempt: ['attempt', 'run', 'lease', 'transaction'],
  bodies: ['bodies', 'handle'],
  context: ['transaction', 'attempt'],
  'create-receiver': ['create-receiver', 'handle', 'runs'],
  deliver: ['handle', 'create-receiver', 'outcomes', 'run'],
  lease: ['lease', 'runs', 'run'],
  options: ['create-receiver', 'bodies'],
  run: ['run', 'runs', 'lease'],
  'run-event': ['run', 'runs', 'lease', 'outcomes'],
  runs: ['runs', 'run'],
  shared: ['runs', 'handle'],
  'store-call': ['run', 'lease', 'runs'],
}

/** What is pure of the receiver, with the tests of the receiver that judge it. */
const PURE_TESTS: Readonly<Record<string, readonly string[]>> = {
  authenticate: ['secrets', 'handle'],
  'check-ms': ['create-receiver', 'runs'],
  'check-schemas': ['create-receiver'],
  'copy-plain': ['create-receiver', 'attempt'],
  'describe-outcome': ['reporter'],
  envelope: ['create-receiver', 'routes'],
  promises: ['attempt', 'intercept', 'secrets'],
  outcome: ['outcomes'],
  pattern: ['routes'],
  reply: ['handle', 'outcomes'],
  'secret-request': ['secrets'],
}

const FILES: readonly Judged[] = [
  ...['signature', 'head', 'dedup-key'].map((name) => ({
    file: `src/protocol/${name}.ts`,
    tests: PROTOCOL,
    allTests: PROTOCOL,
  })),
  ...Object.entries(PURE_TESTS).map(([name, tests]) => ({
    file: `src/protocol/${name}.ts`,
    tests: [PROTOCOL, ...tests.map((test) => `receiver/${test}`)].join(),
    allTests: `${PROTOCOL},${RECEIVER}`,
  })),
  { file: 'src/host/timer-queue.ts', tests: 'host/timer-queue', allTests: `host/**/*,${RECEIVER}` },
  { file: 'src/store/memory-store.ts', tests: 'store/**/*', allTests: `store/**/*,${RECEIVER}` },
  ...readdirSync(join(ROOT, 'src/receiver')).map((file) => {
    const name = file.replace(/\.ts$/, '')
    const tests = (RECEIVER_TESTS[name] ?? [name]).map((test) => `receiver/${test}`)
    return { file: `src/receiver/${file}`, tests: tests.join(), allTests: RECEIVER }
  }),
  {
    file: 'adapters/http/body.ts',
    tests: ['body', 'ends', 'express', 'fastify', 'node'].map((name) => `adapters/http/${name}`).join(),
    allTests: ['body', 'ends', 'http2', 'closing', 'early-answers', 'every-host-bodies', 'next']
      .map((name) => `adapters/http/${name}`)
      .join(),
  },
].filter(({ file }) => !TYPES_ONLY.includes(file))
const REPORT = join(ROOT, '.data/mutation.json')
const LEAST_PERCENT = 92

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

const tree = makeTree()
try {
  for (const { file, tests, allTests } of FILES) {
    if (names.length > 0 && !names.includes(file)) continue
    const code = await run('stryker', ['run', '--mutate', file], ROOT, tests, true)
    if (code !== 0) throw new Error(`stryker ended with ${code}`)
    const { files } = JSON.parse(readFileSync(REPORT, 'utf8')) as { readonly files: Readonly<Record<string, Mutated>> } // Stryker's format
    const mutated = files[file] ?? { source: '', mutants: [] }
    const counted = mutated.mutants.filter(({ status }) => status !== 'Ignored' && status !== 'CompileError')
    // Tests that fail anyway would notice everything.
    if (!(await isPassing(allTests, tree))) throw new Error(`${allTests} fail without a fault`)
    let noticed = 0
    for (const mutant of counted)
      if (mutant.status === 'Killed' || mutant.status === 'Timeout') noticed++
      else if (await isNoticed(file, mutated, mutant, allTests, tree)) noticed++
      else console.log(`unnoticed: ${file}:${mutant.location.start.line} ${mutant.replacement}`)
    const percent = (100 * noticed) / counted.length
    report({
      name: `mutants of ${file}`,
      measured: `${noticed} of ${counted.length} noticed, ${percent.toFixed(1)} %`,
      goal: `${LEAST_PERCENT} %`,
      isMet: percent >= LEAST_PERCENT,
    })
  }
} finally {
  rmSync(tree, { recursive: true, force: true })
}
