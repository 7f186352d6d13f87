/**
 * `npm run test:long`: tests that take too long for every run. Each part prints its figures with their goals, and fails the run if one is
 * missed. `npm run test:long -- timing limits` picks parts.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { ROOT } from '../../support/repository.ts'

const SUITE = ['vitest', 'run', '--config', 'vitest.suite.config.ts']

interface Command {
  readonly line: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

const PARTS: Readonly<Record<string, readonly Command[]>> = {
  properties: [
    {
      line: ['vitest', 'run', 'protocol', '--testTimeout', '3600000'],
      env: { LONG: '1' },
    },
  ],
  timing: [{ line: ['tsx', 'test/proofs/long/timing.ts'] }],
  limits: [{ line: ['node', '--import', 'tsx', '--expose-gc', 'test/proofs/long/limits.ts'] }],
  strict: [{ line: SUITE, env: { NODE_OPTIONS: '--unhandled-rejections=strict' } }],
  storage: [{ line: SUITE, env: { INSIDE_STORAGE: '1' } }],
  client: [{ line: ['vitest', 'run', 'test/client/load.test.ts'], env: { CLIENT_LOAD: 'whole' } }],
  simulation: [
    { line: ['tsx', 'test/proofs/simulation/main.ts', '--seeds', '0..99999'] },
    { line: ['tsx', 'test/proofs/simulation/main.ts', '--inbox', '--seeds', '0..9999'] },
    { line: ['tsx', 'test/proofs/simulation/main.ts', '--find'] },
  ],
  mutation: [{ line: ['stryker', 'run'] }],
}

async function run({ line: [command = '', ...args], env }: Command): Promise<boolean> {
  const path = join(ROOT, 'node_modules/.bin') + delimiter + process.env.PATH
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, PATH: path, ...env } })
  const [code] = (await once(child, 'close')) as [number | null] // the first argument of the event
  return code === 0
}

const names = process.argv.slice(2)
const stray = names.find((name) => !Object.hasOwn(PARTS, name))
if (stray !== undefined) {
  console.error(`There is no part "${stray}". Parts: ${Object.keys(PARTS).join(', ')}.`)
  process.exit(2)
}

const verdicts: string[] = []
for (const [name, commands] of Object.entries(PARTS)) {
  if (names.length > 0 && !names.includes(name)) continue
  console.log(`\n== ${name}`)
  const startedAt = performance.now()
  let isGood = true
  for (const command of commands) isGood = (await run(command)) && isGood
  if (!isGood) process.exitCode = 1
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  verdicts.push(`${name.padEnd(12)} ${isGood ? 'passed' : 'FAILED'} (${seconds} s)`)
}
console.log(`\n${verdicts.join('\n')}`)
