import { exec, execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { start } from '../support/programs.ts'
import { ROOT } from '../support/repository.ts'

const ENV = { NO_COLOR: '1' }

it('npm start shows every kind of delivery and exits 0', async () => {
  // It rejects on any other exit code.
  const { stdout } = await promisify(execFile)('npm', ['start', '--silent'], {
    cwd: ROOT,
    env: { ...process.env, ...ENV },
  })
  const attempts = [...stdout.matchAll(/^\d\d:\d\d:\d\d {2}(\S+) +(evt_\S+) +(\S+) +(\d+) +\d+ ms {2}(.*)$/gm)]
  expect(
    attempts.map(([, type, , step, status, note]) => `${type} ${step} ${status} ${note?.replace(/\d+ ms/, 'N ms')}`),
  ).toEqual([
    'contact.created 1/5 200 handled',
    'contact.updated 1/5 200 handled',
    'contact.deleted 1/5 200 handled',
    'contact.created 1/5 200 duplicate, handler not run',
    'contact.created 1/5 500 handler_failed, next in N ms',
    'contact.created 2/5 500 handler_failed, next in N ms',
    'contact.created 3/5 200 handled',
    'finance.payment.failed 1/5 500 handler_failed, next in N ms',
    'finance.payment.failed 2/5 500 handler_failed, next in N ms',
    'finance.payment.failed 3/5 500 handler_failed, next in N ms',
    'finance.payment.failed 4/5 500 handler_failed, next in N ms',
    'finance.payment.failed 5/5 500 handler_failed, failed',
    'finance.payment.failed retry 200 handled',
    'import.completed 1/5 200 accepted',
    'import.completed 1/5 200 accepted',
  ])
  expect(new Set(attempts.map(([, , id]) => id)).size).toBe(7)
  for (const [, , id] of attempts.slice(-2)) expect(stdout).toContain(`a worker has handled ${id}`)
  expect(stdout).toMatch(
    /is a dead letter after 1 try \(dead_letter\)\. DeadLetter was thrown by: .* To look at it: npx postern inbox show /,
  )
  expect(stdout).toContain('The signature was made with none of the secrets')
  expect(stdout).toMatch(/^7 events, 8 deliveries, 15 attempts; each event handled once; all as it should be$/m)
})

it('npm start -- --keep continues, and its suggested commands work', async () => {
  const kept = start('--import', ENV, 'tsx', 'examples/start/main.ts', '--keep')
  onTestFinished(() => {
    kept.child.kill('SIGKILL')
  })
  await expect.poll(() => kept.output).toContain('Ctrl-C ends it.')
  const lines = kept.output.match(/(?<=^ {2})npm run .*$/gm) ?? []
  expect(lines).toHaveLength(2)
  for (const line of lines) {
    const { stdout } = await promisify(exec)(line, { cwd: ROOT, env: { ...process.env, ...ENV } })
    expect(stdout).toMatch(/ 1\/5 +200 .* handled$/m)
    expect(stdout.match(/ 200 .* duplicate$/gm) ?? []).toHaveLength(line.includes('--duplicate 3') ? 2 : 0)
  }
  kept.child.kill('SIGINT')
  expect(await kept.exitCode).toBe(0)
  expect(kept.output).toMatch(/^Bye\. /m)
})

it('npm start refuses an unknown flag', async () => {
  const refused = start('--import', ENV, 'tsx', 'examples/start/main.ts', '--kepp')
  expect(await refused.exitCode).toBe(2)
  expect(refused.output).toMatch(/--kepp'\nUsage: npm start \[-- --keep\]/)
})
