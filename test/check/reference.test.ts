import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkReceiver, urlProbe } from 'postern/check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { findEngine } from '../engines/require.ts'
import { findFreePort } from '../support/programs.ts'
import { ROOT, readText } from '../support/repository.ts'
import { mustBeSound, told } from './judge.ts'

const SECRET = 'a secret for the checks'
const FOLDER = `${ROOT}test/check/reference`
const scratch = mkdtempSync(join(tmpdir(), 'postern-reference-'))
afterAll(() => rmSync(scratch, { recursive: true }))

/** Starts a receiver, which ends with the test. */
function start(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(command, args, {
    env: { ...process.env, WEBHOOK_SECRET: SECRET, PROBE: '1', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group, so that its workers end with it
  })
  onTestFinished(() => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  })
  child.stderr.resume()
  return child
}

const urlOf = (port: number) => `http://127.0.0.1:${port}/webhooks`

async function readPort(child: ChildProcess): Promise<number> {
  if (child.stdout === null) throw new Error('its output is read')
  const [port] = await once(child.stdout, 'data')
  return Number(port)
}

const LANGUAGES = [
  {
    name: 'Python',
    program: findEngine('python3'),
    listen: async (python: string) =>
      readPort(start(python, [`${FOLDER}/receiver.py`], { DATABASE: join(scratch, 'events.db') })),
  },
  {
    name: 'Go',
    program: findEngine('go', '/usr/local/go/bin'),
    listen: async (go: string) => {
      const binary = join(scratch, 'receiver')
      const env = { ...process.env, CGO_ENABLED: '0', GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '' }
      const { status, stderr } = spawnSync(go, ['build', '-o', binary, `${FOLDER}/receiver.go`], { env })
      expect(status, String(stderr)).toBe(0)
      return readPort(start(binary, []))
    },
  },
  {
    name: 'PHP',
    program: findEngine('php'),
    listen: async (php: string) => {
      const port = await findFreePort()
      const env = { STATE: mkdtempSync(join(scratch, 'state-')), PHP_CLI_SERVER_WORKERS: '4' }
      const child = start(php, ['-S', `127.0.0.1:${port}`, `${FOLDER}/receiver.php`], env)
      await once(child.stderr, 'data')
      return port
    },
  },
]

describe('a receiver without this library', () => {
  for (const { name, program, listen } of LANGUAGES)
    it.skipIf(program === undefined)(`passes all checks, in ${name}`, { timeout: 180_000 }, async () => {
      const port = await listen(program ?? '')
      const probe = urlProbe(new URL(`http://127.0.0.1:${port}/probe`))
      const report = await checkReceiver(urlOf(port), { secret: SECRET, probe, skip: ['deadline'] })
      mustBeSound(report)
      expect(Object.keys(told(report, 'skipped'))).toEqual(['deadline'])
    })

  it('is on the page of the guide in the tested form', () => {
    const page = readText('docs/guides/other-languages.md')
    expect(page).toContain(`\`\`\`python\n${readText('test/check/reference/receiver.py')}\`\`\`\n`)
  })

  it('passes without a probe, as a plain script of Node', async () => {
    const url = urlOf(await readPort(start(process.execPath, [`${FOLDER}/receiver.mjs`])))
    const report = await checkReceiver(url, { secret: SECRET, skip: ['deadline'] })
    mustBeSound(report)
    // A check never reports a pass for what it cannot observe.
    const effects = report.checks.filter(({ group }) => group === 'effect')
    expect(effects.map(({ status, reason }) => [status, reason])).toEqual(
      effects.map(() => ['skipped', 'not observable without a probe']),
    )
  })

  it('fails if a header ends its process', async () => {
    const child = start(process.execPath, [`${FOLDER}/receiver.mjs`], { CRASH: '1' })
    const exit = once(child, 'exit')
    const url = urlOf(await readPort(child))
    const report = await checkReceiver(url, { secret: SECRET, skip: ['deadline', 'keep-alive'], concurrency: 1 })
    await exit
    expect(report.isReachable).toBe(true)
    const failures = told(report, 'fail')
    expect(Object.keys(failures)[0]).toBe('signature-missing')
    expect(failures['signature-missing']).toBe('the connection ended without an answer')
    expect(failures['alive-after-all']).toContain('one of them may have ended the process')
  })
})
