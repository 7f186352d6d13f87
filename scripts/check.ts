/**
 * Checks the source without running it: types, lint, dead code and English. Prints a line that names what runs and one if all succeed, else
 * the whole output of each failing step, and exits with 1. The tests of the package (`npm run test:all`) judge its published form.
 */
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { ROOT } from '../test/support/repository.ts'

// TypeScript 7 takes a third of the time of TypeScript 5, by which the package is built and its declarations are tested. Each further checker
// looks at shared types again, and two cores have other steps to run.
const TSC = 'node_modules/typescript7/bin/tsc --noEmit --checkers 1'
const STEPS = [
  TSC,
  `${TSC} -p tools/inspector`,
  'biome ci --colors=off --error-on-warnings',
  'knip',
  'node scripts/check-english.mjs',
]
const env = { ...process.env, PATH: join(ROOT, 'node_modules/.bin') + delimiter + process.env.PATH }

/** Runs one command, and returns its whole output if it fails. */
function runStep(line: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const child = spawn(line, { cwd: ROOT, env, shell: true, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
    child.on('close', (code) => resolve(code === 0 ? undefined : `--- failed: ${line}\n${Buffer.concat(chunks)}`))
  })
}

const started = performance.now()
console.error(`check: types, lint, dead code and English: ${STEPS.length} steps, about 40 s on two cores`)
const failures = (await Promise.all(STEPS.map(runStep))).filter((output) => output !== undefined)
const seconds = ((performance.now() - started) / 1_000).toFixed(1)

for (const failure of failures) console.error(`\n${failure}`)
if (failures.length > 0) {
  console.error(`check: ${failures.length} of ${STEPS.length} steps failed (${seconds} s)`)
  process.exitCode = 1
} else {
  console.log(`check: ${STEPS.length} steps passed (${seconds} s)`)
}
