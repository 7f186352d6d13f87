import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { ROOT } from '../support/repository.ts'
import { CHECK_TESTS } from './mutated/check.ts'
import { CLI_TESTS } from './mutated/cli.ts'
import { CLIENT_TESTS } from './mutated/client.ts'
import { EMULATOR_TESTS } from './mutated/emulator.ts'
import { INBOX_TESTS } from './mutated/inbox.ts'
import { TESTING_TESTS } from './mutated/testing.ts'
import type { TestsByFile } from './mutated/tests-by-file.ts'
import { WIRE_TESTS } from './mutated/wire.ts'

const PROTOCOL = 'protocol/**/*'
const RECEIVER = 'receiver/**/*'

/** A file, and the requirements for its tests. */
export interface Judged {
  readonly file: string
  /** Test files written for it. Named below test/, with commas, as is the next one. */
  readonly tests: string
  readonly allTests: string
  readonly leastPercent: number
}

/** Tests of a file of the receiver, if they are not only those of its own name. Those of another folder are named with it. */
const RECEIVER_TESTS: Readonly<Record<string, readonly string[]>> = {
  attempt: ['attempt', 'run', 'lease', 'transaction'],
  bodies: ['bodies', 'handle'],
  context: ['transaction', 'attempt'],
  'create-receiver': ['create-receiver', 'handle', 'runs'],
  deliver: ['handle', 'create-receiver', 'outcomes', 'run'],
  'inbox-path': ['inbox/work', 'inbox/mishaps'],
  lease: ['lease', 'runs', 'run'],
  options: ['create-receiver', 'bodies'],
  run: ['run', 'runs', 'lease', 'attempt'],
  reporter: ['reporter', 'bodies'],
  'run-event': ['run', 'runs', 'lease', 'outcomes'],
  runs: ['runs', 'run'],
  shared: ['runs', 'handle', 'outcomes'],
  'store-call': ['run', 'lease', 'runs'],
  waiting: ['run', 'runs', 'async-context', 'lease'],
}

/** Pure files of the receiver, with the receiver's tests that judge them. */
const PURE_TESTS: Readonly<Record<string, readonly string[]>> = {
  authenticate: ['secrets', 'handle'],
  'check-schemas': ['create-receiver'],
  'copy-plain': ['create-receiver', 'attempt'],
  envelope: ['create-receiver', 'routes'],
  promises: ['attempt', 'intercept', 'secrets'],
  'option-checker': ['create-receiver', 'runs'],
  outcome: ['outcomes', 'handle'],
  pattern: ['routes'],
}

const RECEIVING: readonly Omit<Judged, 'leastPercent'>[] = [
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
  { file: 'src/host/manual-clock.ts', tests: 'host/manual-clock', allTests: 'host/**/*,testing/**/*' },
  { file: 'src/host/duration.ts', tests: 'host/manual-clock', allTests: 'host/**/*,testing/**/*' },
  { file: 'src/host/timer-queue.ts', tests: 'host/timer-queue', allTests: `host/**/*,${RECEIVER}` },
  { file: 'src/store/memory-store.ts', tests: 'store/**/*', allTests: `store/**/*,${RECEIVER}` },
  ...readdirSync(join(ROOT, 'src/receiver')).map((file) => {
    const name = file.replace(/\.ts$/, '')
    const tests = (RECEIVER_TESTS[name] ?? [name]).map((test) => (test.includes('/') ? test : `receiver/${test}`))
    return { file: `src/receiver/${file}`, tests: tests.join(), allTests: `${RECEIVER},inbox/**/*` }
  }),
  {
    file: 'adapters/http/body.ts',
    tests: ['body', 'ends', 'express', 'fastify', 'node'].map((name) => `adapters/http/${name}`).join(),
    allTests: ['body', 'ends', 'http2', 'closing', 'early-answers', 'every-host-bodies', 'next']
      .map((name) => `adapters/http/${name}`)
      .join(),
  },
]

/** Types and the names of other files contain nothing to change. */
function hasCode(path: string): boolean {
  const { code } = transformSync(readFileSync(path, 'utf8'), { loader: 'ts' })
  return code.replaceAll(/^(import|export) [^;=(]*;$/gm, '').trim() !== ''
}

/** A file without a row is judged by all tests of its folder. */
function listFolder(folder: string, tests: TestsByFile): readonly Judged[] {
  const allTests = `${folder}/**/*`
  return readdirSync(join(ROOT, 'src', folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && hasCode(join(ROOT, 'src', folder, file)))
    .map((file) => ({
      file: `src/${folder}/${file}`,
      tests:
        tests[file.replace(/\.ts$/, '')]?.map((name) => (name.includes('/') ? name : `${folder}/${name}`)).join() ??
        allTests,
      allTests,
      leastPercent: 85,
    }))
}

/** Files in the order of the run. */
export const FILES: readonly Judged[] = [
  ...RECEIVING.map((each) => ({ ...each, leastPercent: 92 })),
  ...listFolder('inbox', INBOX_TESTS),
  ...listFolder('client', CLIENT_TESTS),
  ...listFolder('testing', TESTING_TESTS),
  ...listFolder('wire', WIRE_TESTS),
  ...listFolder('check', CHECK_TESTS),
  ...listFolder('emulator', EMULATOR_TESTS),
  ...listFolder('cli', CLI_TESTS),
]
