/**
 * `npm run chaos`: several worker processes on one engine, killed at random while a sender that follows the retry rule sends events with
 * duplicates. Prints the outcome of each event; exits with 1 if one was lost, or handled twice without a kill.
 */
import { parseArgs } from 'node:util'
import { startEngine } from './engine-servers.ts'
import { ENGINE_NAMES, type EngineName } from './messages.ts'
import { type ChaosReport, runChaos } from './run-chaos.ts'

const HELP = `npm run chaos -- [engine ...] [options]

Engines: ${ENGINE_NAMES.join(', ')}, or inbox for
those with one (default: all but memory, which forgets between processes and has to fail)

  --events N        events to send, 30 % of them with copies (default 100000)
  --kills N         kill -9 of random workers (default 25)
  --no-faults       leave the engine alone (default: it is stopped, killed and restarted as well)

  npm run chaos -- redis --events 10000 --kills 5
  npm run chaos -- inbox --events 20000
  npm run chaos -- postgres-transaction`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    events: { type: 'string', default: '100000' },
    kills: { type: 'string', default: '25' },
    faults: { type: 'boolean', default: true },
    help: { type: 'boolean', default: false },
  },
})

function toCount(name: 'events' | 'kills'): number {
  const count = Number(values[name])
  if (Number.isInteger(count) && count >= (name === 'kills' ? 0 : 1)) return count
  return fail(`--${name} takes a whole number, not "${values[name]}".`)
}

function fail(message: string): never {
  console.error(`${message}\n\n${HELP}`)
  process.exit(2)
}

function toEngineNames(text: string): readonly EngineName[] {
  const found = ENGINE_NAMES.filter((name) => name === text || (text === 'inbox' && name.startsWith('inbox-')))
  return found.length > 0 ? found : fail(`There is no engine "${text}".`)
}

function print(name: EngineName, { faults, lastWords, statuses, ...counts }: ChaosReport): void {
  const answers = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
  const rows = [
    ...Object.entries(counts).map(([what, count]) => [what, String(count)]),
    ['answers', answers.join(', ')],
    ...Object.entries(faults).map(([what, count]) => [what, `${count}${count === 0 ? '' : '   HAS TO BE 0'}`]),
  ]
  console.log(`\n== ${name}`)
  for (const [what = '', value = ''] of rows) console.log(`  ${toWords(what).padEnd(24)} ${value}`)
  for (const words of lastWords) console.log(`  a worker's last words: ${words}`)
}

/** Writes `twiceWithoutKill` as `twice without kill`. */
function toWords(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

if (values.help) {
  console.log(HELP)
  process.exit()
}
const names =
  positionals.length > 0 ? positionals.flatMap(toEngineNames) : ENGINE_NAMES.filter((name) => name !== 'memory')
const settings = {
  events: toCount('events'),
  kills: toCount('kills'),
  workers: 4,
  concurrency: 64,
  engineFaults: values.faults,
  // Attempts at 0, 0.3, 3.3, 21 and 93 s: the fourth comes after the lease of a killed worker has ended.
  leaseMs: 15_000,
  retryScale: 100,
}
for (const name of names) {
  const engine = await startEngine(name)
  let lastAt = performance.now()
  const onProgress = (done: number) => {
    if (performance.now() < lastAt + 10_000) return
    lastAt = performance.now()
    console.error(`${name}: ${done} of ${settings.events} events`)
  }
  const records = name.endsWith('-lanes') ? { records: 100 } : {}
  const report = await runChaos({ ...settings, ...records, engine, onProgress })
  await engine.close()
  print(name, report)
  if (Object.values(report.faults).some((count) => count > 0)) process.exitCode = 1
}
