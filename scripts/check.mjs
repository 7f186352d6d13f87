/**
 * Runs every check of the code except for its tests: prints a line that names what runs and one if all succeed, else the whole output of
 * each failing step, and exits with 1. publint and attw check the package in its published form, packed once from a fresh build.
 */
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const env = { ...process.env, PATH: join(root, 'node_modules/.bin') + delimiter + process.env.PATH }
const failures = []
let passed = 0

/** Runs one command and keeps its output; returns whether it succeeded. */
function step(command, ...args) {
  return new Promise((resolve) => {
    const chunks = []
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.stderr.on('data', (chunk) => chunks.push(chunk))
    child.on('error', (error) => chunks.push(Buffer.from(`${error.message}\n`)))
    child.on('close', (code) => {
      if (code === 0) passed += 1
      else failures.push({ command: [command, ...args].join(' '), output: Buffer.concat(chunks).toString() })
      resolve(code === 0)
    })
  })
}

async function checkPackage(folder) {
  if (!(await step('tsup', '--silent'))) return
  if (!(await step('npm', 'pack', '--ignore-scripts', '--pack-destination', folder))) return
  const [tarball] = await readdir(folder)
  await Promise.all([
    step('publint', 'run', join(folder, tarball), '--strict'),
    step('attw', join(folder, tarball), '--profile', 'esm-only'),
  ])
}

const started = performance.now()
console.error('check: build, package, types, lint, dead code and English: 9 steps, about 40 s on two cores')
const folder = await mkdtemp(join(tmpdir(), 'postern-check-'))
try {
  await Promise.all([
    checkPackage(folder),
    step('tsc', '--noEmit'),
    step('tsc', '--noEmit', '-p', 'src/inspector'),
    step('biome', 'ci', '--colors=off', '--error-on-warnings'),
    step('knip'),
    step('node', 'scripts/check-english.mjs'),
  ])
} finally {
  await rm(folder, { recursive: true, force: true })
}
const seconds = ((performance.now() - started) / 1000).toFixed(1)

for (const { command, output } of failures) console.error(`\n--- failed: ${command}\n${output}`)
if (failures.length > 0) {
  console.error(`check: ${failures.length} of ${failures.length + passed} steps failed (${seconds} s)`)
  process.exitCode = 1
} else {
  console.log(`check: ${passed} steps passed (${seconds} s)`)
}
