import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { checkReceiver } from 'postern/check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../support/repository.ts'
import { mustBeSound, told } from './judge.ts'

const SECRET = 'a secret for the checks'
const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) console.log('python3 is not here: the receiver in Python is not judged')

/** Starts a receiver that prints its port; it is ended with the test. */
async function start(command: string, file: string, env = {}): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(command, [`${ROOT}test/check/strangers/${file}`], {
    env: { ...process.env, WEBHOOK_SECRET: SECRET, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const [port] = await once(child.stdout, 'data')
  return { child, url: `http://127.0.0.1:${Number(port)}/webhooks` }
}

describe('a receiver that knows nothing of this library', { timeout: 60_000 }, () => {
  it.skipIf(!hasPython)('passes, in Python', async () => {
    const { url } = await start('python3', 'receiver.py')
    const report = await checkReceiver(url, { secret: SECRET, skip: ['deadline'] })
    mustBeSound(report)
    expect(report.summary.pass).toBeGreaterThan(45)
  })

  it('passes, as a plain script of Node', async () => {
    const { url } = await start(process.execPath, 'receiver.mjs')
    const report = await checkReceiver(url, { secret: SECRET, skip: ['deadline'] })
    mustBeSound(report)
    // What can't be seen is never called a pass.
    const effects = report.checks.filter(({ group }) => group === 'effect')
    expect(effects.map(({ status, reason }) => [status, reason])).toEqual(
      effects.map(() => ['skipped', 'not observable without a probe']),
    )
  })

  it('is told where a header ends its process', async () => {
    const { child, url } = await start(process.execPath, 'receiver.mjs', { CRASH: '1' })
    const exit = once(child, 'exit')
    const report = await checkReceiver(url, { secret: SECRET, skip: ['deadline'], concurrency: 1 })
    await exit
    expect(report.isReachable).toBe(true)
    const failures = told(report, 'fail')
    expect(Object.keys(failures)[0]).toBe('signature-missing')
    expect(failures['signature-missing']).toBe('the connection ended without an answer')
    expect(failures['alive-after-all']).toContain('one of them may have ended the process')
  })
})
