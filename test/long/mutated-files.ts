import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { transformSync } from 'esbuild'
import { ROOT } from '../support/repository.ts'

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

/** Tests that judge a file or a folder beside the test of its own name; all of its area if there are none. Those of another area name it. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  'check/cases': ['effects', 'leaks', 'page', 'reaches', 'sends', 'turns', 'mistakes'],
  'check/check-receiver': ['runs', 'options', 'curl-line', 'report'],
  'check/diagnose': ['finding', 'mistakes', 'late'],
  'check/format-report': ['report'],
  'check/maker': ['sends', 'turns'],
  'check/probe': ['probe-command'],
  'check/scene': ['runs', 'late', 'work'],
  'check/verdict': ['turns', 'late'],
  'check/work': ['effects', 'turns'],
  'check/wrong-forms': ['mistakes'],
  'cli/commands/add-group': ['run'],
  'cli/commands/dev': ['dev-start'],
  'cli/commands/registrations': ['rotation'],
  'cli/commands/logs': ['logs'],
  'cli/commands/trigger': ['trigger-emulator', 'event-types'],
  'cli/commands/webhooks': ['create-webhook', 'registrations', 'service'],
  'cli/input/emulator-options': ['emulator', 'dev-start', 'dev', 'default-port'],
  'cli/input/keys': ['dev', 'inbox-replay'],
  'cli/input/make-events': ['trigger', 'event-types', 'dev', 'fixtures'],
  'cli/input/read-bytes': ['secret', 'verify', 'env-file'],
  'cli/input/read-delivery': ['verify'],
  'cli/input/read-option': ['trigger', 'run'],
  'cli/input/secret': ['verify'],
  'cli/io': ['run', 'create-webhook'],
  'cli/output/attempt-line': ['dev-start', 'trigger'],
  'cli/output/own-file': ['env-file', 'registrations', 'create-webhook', 'replay'],
  'cli/output/print-delivery': ['deliveries', 'replay'],
  'cli/output/replay-progress': ['progress-line'],
  'cli/output/secret-keeper': ['registrations', 'rotation'],
  'cli/run': ['check', 'no-emulator', 'service'],
  'cli/service/emulator-client': ['no-emulator', 'logs'],
  'cli/service/inbox-options': ['inbox', 'run', 'inbox-servers'],
  'cli/service/late-inbox': ['inbox-servers'],
  'cli/service/service-client': ['service', 'default-port', 'replay', 'webhooks'],
  'client/create-client': ['webhooks', 'options', 'lists', 'calls'],
  'client/failures': ['refusals', 'calls', 'login'],
  'client/read-pages': ['lists'],
  'client/records': ['lists', 'webhooks', 'secrecy'],
  'client/registrations': ['ensure-webhook', 'rotate-webhook'],
  'client/replay-journal': ['replay-failed'],
  'client/replay-plan': ['replay-failed'],
  'client/service-error': ['refusals', 'calls', 'secrecy'],
  'client/session': ['login', 'signals', 'calls'],
  'client/settings': ['options'],
  'client/transport': ['calls', 'login', 'refusals', 'signals', 'rate-limit', 'lists'],
  'emulator/assumptions': ['assumptions-page'],
  'emulator/delivery-actions': ['retry'],
  'emulator/http/env': ['gate'],
  'emulator/http/service-gate': ['gate'],
  'emulator/http/service-routes': ['gate', 'webhook-routes'],
  'emulator/http/stream-route': ['stream'],
  'emulator/inspector': ['inbox-routes', 'inspector-routes'],
  'receiver/context': ['transaction', 'attempt'],
  'receiver/deliver': ['handle', 'create-receiver', 'outcomes', 'run'],
  'receiver/inbox-path': ['inbox/work', 'inbox/mishaps'],
  'receiver/options': ['create-receiver', 'bodies'],
  'receiver/run-event': ['run', 'runs', 'lease', 'outcomes'],
  'receiver/shared': ['runs', 'handle', 'outcomes'],
  'receiver/store-call': ['run', 'lease', 'runs'],
  'receiver/waiting': ['run', 'runs', 'async-context', 'lease'],
  'testing/.': ['sender', 'targets', 'wrong-use'],
  'testing/inbox-suite': ['inbox-cases', 'inbox-faults'],
  'testing/store-suite': ['store-cases', 'store-faults', 'transaction-faults'],
  'wire/signings': ['signature-mistakes'],
}

/** Tests that judge again what the first ones missed, for files and folders for which all of the area would take hours. */
const ALL_TESTS: Readonly<Record<string, string>> = {
  'check/cases': 'check/alone',
  'check/work': 'check/alone',
  'testing/inbox-suite': 'testing/inbox-*',
  'testing/store-suite': 'testing/store-*,testing/transaction-*,testing/wrong-clock',
}

/** Returns the tests that judge a file of an area first. */
function testsOf(area: string, file: string): string {
  const name = file.replace(/\.ts$/, '')
  const own = existsSync(join(ROOT, 'test', area, `${basename(name)}.test.ts`)) ? [basename(name)] : []
  const named = TESTS[`${area}/${name}`] ?? TESTS[`${area}/${dirname(name)}`] ?? []
  const tests = own.length + named.length === 0 ? ['**/*'] : [...new Set([...own, ...named])]
  return tests.map((test) => (test.includes('/') && test !== '**/*' ? test : `${area}/${test}`)).join()
}

/** Pure files of the receiver, which the receiver's tests judge as well. */
const PURE = 'authenticate check-schemas copy-plain envelope promises option-checker outcome pattern'.split(' ')

const RECEIVING: readonly Omit<Judged, 'leastPercent'>[] = [
  ...['signature', 'head', 'dedup-key'].map((name) => ({
    file: `src/protocol/${name}.ts`,
    tests: PROTOCOL,
    allTests: PROTOCOL,
  })),
  ...PURE.map((name) => ({
    file: `src/protocol/${name}.ts`,
    tests: PROTOCOL,
    allTests: `${PROTOCOL},${RECEIVER}`,
  })),
  { file: 'src/host/manual-clock.ts', tests: 'host/manual-clock', allTests: 'host/**/*,testing/**/*' },
  { file: 'src/host/duration.ts', tests: 'host/manual-clock', allTests: 'host/**/*,testing/**/*' },
  { file: 'src/host/timer-queue.ts', tests: 'host/timer-queue', allTests: `host/**/*,${RECEIVER}` },
  { file: 'src/store/memory-store.ts', tests: 'store/**/*', allTests: `store/**/*,${RECEIVER}` },
  ...readdirSync(join(ROOT, 'src/receiver')).map((file) => ({
    file: `src/receiver/${file}`,
    tests: testsOf('receiver', file),
    allTests: `${RECEIVER},inbox/**/*`,
  })),
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

function listFolder(folder: string): readonly Judged[] {
  return readdirSync(join(ROOT, 'src', folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && hasCode(join(ROOT, 'src', folder, file)))
    .map((file) => ({
      file: `src/${folder}/${file}`,
      tests: testsOf(folder, file),
      allTests:
        ALL_TESTS[`${folder}/${file.replace('.ts', '')}`] ??
        ALL_TESTS[`${folder}/${dirname(file)}`] ??
        `${folder}/**/*`,
      leastPercent: 85,
    }))
}

/** Files in the order of the run. */
export const FILES: readonly Judged[] = [
  ...RECEIVING.map((each) => ({ ...each, leastPercent: 92 })),
  ...['inbox', 'client', 'testing', 'wire', 'check', 'emulator', 'cli'].flatMap(listFolder),
]
