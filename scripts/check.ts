/**
 * Runs every check of the code except for its tests: prints a line that names what runs and one if all succeed, else the whole output of
 * each failing step, and exits with 1. publint and attw check the package in its published form, in the tarball that the tests use as well.
 */
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { packOnce } from '../test/support/build-once.ts'
import { ROOT } from '../test/support/repository.ts'

const env = { ...process.env, PATH: join(ROOT, 'node_modules/.bin') + delimiter + process.env.PATH }
const failures: { readonly title: string; readonly output: string }[] = []
let passed = 0

/** Runs one command and keeps its output. */
function step(command: string, ...args: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const child = spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('error', (error) => chunks.push(Buffer.from(`${error.message}\n`)))
    child.on('close', (code) => {
      if (code === 0) passed += 1
      else failures.push({ title: [command, ...args].join(' '), output: Buffer.concat(chunks).toString() })
      resolve()
    })
  })
}

async function checkPackage(): Promise<void> {
  try {
    const tarball = await packOnce()
    passed += 1
    await Promise.all([step('publint', 'run', tarball, '--strict'), step('attw', tarball, '--profile', 'esm-only')])
  } catch (error) {
    failures.push({ title: 'build and package', output: String(error) })
  }
}

const started = performance.now()
console.error('check: package, types, lint, dead code and English: 8 steps, about 40 s on two cores')
await Promise.all([
  checkPackage(),
  step('tsc', '--noEmit'),
  step('tsc', '--noEmit', '-p', 'src/inspector'),
  step('biome', 'ci', '--colors=off', '--error-on-warnings'),
  step('knip'),
  step('node', 'scripts/check-english.mjs'),
])
const seconds = ((performance.now() - started) / 1_000).toFixed(1)

for (const { title, output } of failures) console.error(`\n--- failed: ${title}\n${output}`)
if (failures.length > 0) {
  console.error(`check: ${failures.length} of ${failures.length + passed} steps failed (${seconds} s)`)
  process.exitCode = 1
} else {
  console.log(`check: ${passed} steps passed (${seconds} s)`)
}
