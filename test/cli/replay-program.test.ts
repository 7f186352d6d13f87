import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createReceiver } from 'postern'
import { startEmulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { quiet, serve as serveApp } from '../emulator/support.ts'
import { type BuiltProgram, buildProgram } from './program.ts'
import { readLines } from './run-cli.ts'
import { ADA, serve } from './serve.ts'

const EVENTS = 80

let program: BuiltProgram
beforeAll(async () => {
  program = await buildProgram()
})
afterAll(() => program.remove())

/** A service with an app that was away for longer than the whole schedule, and is back. */
async function haveOutage() {
  const crm = await startEmulator({ retryScale: 1_000_000, rateLimit: '50/2s', logger: quiet })
  onTestFinished(() => crm.close())
  const app = { isDown: true }
  const handled = new Map<string, number>()
  const receiver = createReceiver({ secret: 'test-secret', logger: quiet })
  receiver.on('*', ({ id }) => {
    handled.set(id, (handled.get(id) ?? 0) + 1)
  })
  const handle = nodeHandler(receiver)
  const { url } = await serveApp((request, response) =>
    app.isDown ? void response.writeHead(503).end() : handle(request, response),
  )
  const { id } = crm.webhooks.create({ url, events: ['contact.created'] }, { secret: 'test-secret' })
  const sent = Array.from({ length: EVENTS }, () => crm.events.emit({ type: 'contact.created' }).id)
  await expect.poll(() => crm.deliveries.list().every(({ status }) => status === 'failed')).toBe(true)
  app.isDown = false
  const statuses: number[] = []
  crm.subscribe((message) => {
    if (message.type === 'call') statuses.push(message.status)
  })
  const env = { ...ADA, POSTERN_BASE_URL: crm.url }
  return { crm, id, sent, handled, statuses, env }
}

it('a replay, interrupted halfway, continues with its journal: each event once, no 429', async () => {
  const { id, sent, handled, statuses, env } = await haveOutage()
  const line = `exec postern replay --webhook ${id} --failed --yes --journal outage.journal --json`
  const first = program.start(line, env)
  // The first window of the rate limit ends before 50, and the next one begins seconds later.
  await first.until(/"type":"progress","phase":"retrying".*"retried":[2-7]\d,/)
  first.interrupt()
  expect(await first.exitCode).toBe(130)
  const lines = readLines(await readFile(join(program.folder, 'outage.journal'), 'utf8'))
  const [asked, accepted] = ['asked', 'accepted'].map((each) => lines.filter(({ step }) => step === each).length)
  const [summary] = readLines(first.stdout)
  expect(summary).toMatchObject({ type: 'summary', isComplete: false, total: EVENTS, retried: accepted })
  expect(asked).toBeGreaterThanOrEqual(20)
  expect(asked).toBeLessThan(EVENTS)

  const second = program.start(line, env)
  expect(await second.exitCode, second.stderr).toBe(0)
  const records = readLines(second.stdout)
  expect(records.at(-1)).toMatchObject({ type: 'summary', isComplete: true, resumed: asked, failed: 0 })
  await expect.poll(() => handled.size).toBe(EVENTS)
  expect([...handled.keys()].toSorted()).toEqual(sent.toSorted())
  expect([...handled.values()].every((count) => count === 1)).toBe(true)
  expect(statuses).not.toContain(429)
})

it('a webhook whose secret cannot be written is deleted again', async () => {
  const { crm, env } = await serve()
  const create = 'postern webhooks create --url https://app.example.com/ --events sync.failed --secret-file full.secret'
  // The file size limit is zero; Node gets an error, and is not killed.
  const started = program.start(`trap '' XFSZ; ulimit -f 0; ${create}`, env)
  expect(await started.exitCode, started.stderr).toBe(1)
  expect(started.stderr).toMatch(/full.secret cannot be written: EFBIG.* Webhook \w+ is deleted again/)
  expect(started.stdout).toBe('')
  expect(crm.webhooks.list()).toEqual([])
  // The next run finds no file in its way.
  const again = program.start(create, env)
  expect(await again.exitCode, again.stderr).toBe(0)
  expect(crm.webhooks.list()).toHaveLength(1)
})

it('an env file keeps its lines if the disk is full', async () => {
  const { crm, env } = await serve()
  const before = `A=1\nWEBHOOK_SECRET=\n#${'x'.repeat(4_050)}\nLAST=kept\n`
  await writeFile(join(program.folder, 'full.env'), before)
  const line = 'postern webhooks ensure --url https://app.example.com/ --events sync.failed --to-env full.env'
  const started = program.start(`trap '' XFSZ; ulimit -f 8; ${line}`, env)
  expect(await started.exitCode, started.stderr).toBe(1)
  expect(started.stderr).toMatch(/full.env cannot be written: EFBIG/)
  expect(await readFile(join(program.folder, 'full.env'), 'utf8')).toBe(before)
  expect(crm.webhooks.list()).toEqual([])
})

it('a closed pipe is no success, and no reason to forget the results', async () => {
  const { crm, env } = await serve()
  crm.webhooks.create({ url: 'https://app.example.com/', events: ['sync.failed'] })
  const codes = await Promise.all(
    [`check ${crm.url}/nothing-there`, 'webhooks list'].map(async (command, at) => {
      const started = program.start(`(postern ${command}; echo $? > code${at}) | true; cat code${at}`, env)
      await started.exitCode
      return started.stdout
    }),
  )
  expect(codes).toEqual(['1\n', '141\n'])
})

it('a followed list ends with 141 when its reader closes the pipe, and 1 on a full disk', async () => {
  const { crm, env } = await serve()
  const { id } = crm.webhooks.create({ url: 'http://127.0.0.1:9/', events: ['sync.failed'] })
  crm.events.emit({ type: 'sync.failed' })
  const followed = program.start(
    `(postern deliveries list ${id} --follow --json; echo $? > code) | head -n 1; cat code`,
    env,
  )
  await followed.exitCode
  expect(followed.stdout).toMatch(/^\{.*"ready".*\}\n141\n$/)
  const full = program.start('postern webhooks list > /dev/full', env)
  expect(await full.exitCode).toBe(1)
  expect(full.stderr).toMatch(/^postern: standard output cannot be written: ENOSPC[^\n]*\n$/)
})

it('a journal that cannot be written ends a replay before anything is retried', async () => {
  const { id, handled, env } = await haveOutage()
  const replay = `postern replay --webhook ${id} --yes --journal`
  const full = program.start(`trap '' XFSZ; ulimit -f 0; ${replay} full.journal --json`, env)
  expect(await full.exitCode).toBe(1)
  expect(full.stderr).toMatch(/^postern: full.journal cannot be written: EFBIG.* Nothing is retried without it.$/m)
  expect(readLines(full.stdout).at(-1)).toMatchObject({ error: { code: 'failed' } })
  expect(handled.size).toBe(0)
})
