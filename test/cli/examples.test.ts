import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createReceiver, sign } from 'postern'
import { type Emulator, startEmulator } from 'postern/emulator'
import { nodeHandler } from 'postern/node'
import { silentLogger } from 'postern/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { type PostgresServer, postgresProgram, startPostgres } from '../engines/postgres-server.ts'
import { type RedisServer, redisProgram, startRedis } from '../engines/redis-server.ts'
import { readBlocks } from '../support/examples.ts'
import { listFiles, ROOT } from '../support/repository.ts'
import { makeDeadLetters } from './make-dead-letters.ts'
import { type BuiltProgram, buildProgram } from './program.ts'
import { runCli } from './run-cli.ts'
import { ADA } from './serve.ts'

const BODY = '{"id": "evt_1"}'

let program: BuiltProgram
/** Servers that examples name, if their programs are installed here. */
const engines: { readonly redis?: RedisServer; readonly postgres?: PostgresServer } = {}
beforeAll(async () => {
  program = await buildProgram()
  if (redisProgram !== undefined) Object.assign(engines, { redis: await startRedis() })
  if (postgresProgram !== undefined) {
    const postgres = await startPostgres()
    Object.assign(engines, { postgres })
    await runCli(`inbox migrate --postgres ${postgres.url}`)
  }
  process.chdir(program.folder)
  await writeFile(join(program.folder, 'body.json'), BODY)
  await writeFile(join(program.folder, 'body.bin'), BODY)
  await writeFile(join(program.folder, 'secret.txt'), `${SECRET}\n`)
  const delivery = { headers: { 'X-Service-Signature': sign(BODY, SECRET) }, body: BODY }
  await writeFile(join(program.folder, 'line.json'), JSON.stringify(delivery))
  await writeFile(join(program.folder, '.env.local'), `WEBHOOK_SECRET=${SECRET}\n`)
})
afterAll(async () => {
  process.chdir(ROOT)
  await Promise.all([program.remove(), engines.redis?.remove(), engines.postgres?.remove()])
})

describe('the examples in the help', () => {
  /** A receiver of this package that reads both headers, with a probe that does not count runs: every event was handled once. */
  async function startReceiver(): Promise<number> {
    const read = (signatureHeader: string) =>
      nodeHandler(createReceiver({ secret: SECRET, signatureHeader, logger: silentLogger }).on('*', () => {}))
    const [handler, other] = [read('X-Service-Signature'), read('X-Crm-Signature')]
    const server = createServer((request, response) => {
      if (request.url?.startsWith('/probe')) response.end('{"runs":1}')
      else (request.headers['x-crm-signature'] === undefined ? handler : other)(request, response)
    })
    const { port, close } = await listen(server)
    onTestFinished(close)
    return port
  }

  /** Changes lines of the help or of a document to use the servers of this test. */
  const meet = (line: string, port: number) =>
    line
      .replace('npx postern', 'postern')
      .replace(/(localhost|127\.0\.0\.1):3000/g, `127.0.0.1:${port}`)
      .replace('redis://localhost:6379', engines.redis?.url ?? '')
      .replace('postgres://postgres:postgres@localhost:5432/postgres', engines.postgres?.url ?? '')
      .replace('postgres://localhost/app', engines.postgres?.url ?? '')
      .replace('sha256=...', sign(BODY, SECRET))
      .replace('postern dev', 'postern dev --port 0')
      .replace('postern emulator', 'postern emulator --port 0')
      .replace('inbox serve', 'inbox serve --port 0')
      // Other tests check its messages about the receiver; here it must only run.
      .replace('postern check', 'postern check --only accepts-valid,duplicate')

  async function readHelp(command: string): Promise<readonly string[]> {
    const { stdout } = await runCli([...command.split(' '), '--help'])
    return [...stdout.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = '']) => line)
  }

  function readDocuments(): readonly string[] {
    const documents = ['README.md', ...listFiles('docs', '.md')]
    const lines = readBlocks(documents).flatMap(({ info, code }) => (info[0] === 'sh' ? code.split('\n') : []))
    return [...new Set(lines.filter((line) => /(^|\| )(npx )?postern /.test(line)))]
  }

  /** Commands that do not end are interrupted. */
  async function mustRun(line: string, env: Readonly<Record<string, string>>): Promise<void> {
    const goesOn = /postern (dev|emulator|logs|inbox serve)/.test(line)
    // To start a process takes longer than most commands.
    if (!goesOn && /^postern [^'"$<>|&;*\\]+$/.test(line)) {
      const setting = { env: { WEBHOOK_SECRET: SECRET, ...env }, hasKeys: false }
      const { code, stdout, stderr } = await runCli(line.replace('postern ', ''), setting)
      return expect(code, `${line}\n${stdout}${stderr}`).toBe(0)
    }
    const started = program.start(goesOn ? `exec ${line}` : line, env)
    if (goesOn) {
      await started.until(/^emulator {3}|^page {7}|"type":"ready"|until Ctrl-C/m)
      started.interrupt(line.includes('emulator') ? 'SIGTERM' : 'SIGINT')
    }
    expect(await started.exitCode, `${line}\n${started.stdout}${started.stderr}`).toBe(goesOn ? 130 : 0)
  }

  /** Makes a delivery that has failed for good, to a receiver that is back. */
  async function makeFailure(emulator: Emulator, port: number): Promise<{ id: string; webhookId: string }> {
    const events = ['import.completed']
    const { id: webhookId } = emulator.webhooks.create({ url: 'http://127.0.0.1:9/', events }, { secret: SECRET })
    emulator.events.emit({ type: 'import.completed', data: {} })
    await emulator.clock.advance('3h')
    emulator.webhooks.update(webhookId, { url: `http://127.0.0.1:${port}/` })
    return { id: emulator.deliveries.list({ webhookId })[0]?.id ?? '', webhookId }
  }

  /** The inbox of an app, with two dead letters. */
  async function makeInbox(): Promise<void> {
    const folder = join(program.folder, 'data')
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder)
    await makeDeadLetters(join(folder, 'app.db'), [{ id: 'evt_1' }, { id: 'evt_2', type: 'contact.deleted' }])
  }

  /** The files that examples write. */
  const MADE = ['crm.secret', 'next.secret']
    .flatMap((name) => [name, `${name}.webhook`])
    .concat('.env.ensured', '.env.next')

  async function mustRunAll(lines: readonly string[]): Promise<void> {
    const port = await startReceiver()
    await using emulator = await startEmulator({ clock: 'manual' })
    const env = { ...ADA, POSTERN_BASE_URL: emulator.url }
    for (const line of lines) {
      const isThere = !(line.includes('redis:') && !engines.redis) && !(line.includes('postgres:') && !engines.postgres)
      if (!isThere) continue
      // The subject of a line exists, and its output does not.
      await fetch(`${emulator.url}/_emulator/faults`, { method: 'DELETE' })
      for (const { id } of emulator.webhooks.list()) emulator.webhooks.delete(id)
      for (const name of MADE) await rm(join(program.folder, name), { force: true })
      if (line.includes('postern inbox')) await makeInbox()
      const events = ['contact.created', 'contact.updated']
      emulator.webhooks.create({ url: `http://127.0.0.1:${port}/`, events }, { secret: SECRET })
      // Paused: a rotation of a webhook that delivers would wait for events.
      const old = { url: 'https://app.example.com/old', events: ['sync.failed'], active: false }
      const { id } = emulator.webhooks.create(old)
      const failed = await makeFailure(emulator, port)
      const own = meet(line, port)
        .replace(/77aa01(.*)65f0c1/, `77aa01$1${failed.webhookId}`)
        .replace('77aa01', failed.id)
      await mustRun(own.replaceAll('65f0c1', id), env)
    }
  }

  const commands = [
    ...['dev', 'emulator', 'trigger', 'fixtures', 'check', 'sign', 'verify', 'webhooks'],
    ...['list', 'get', 'create', 'update', 'pause', 'resume', 'delete', 'ensure', 'rotate'].map(
      (name) => `webhooks ${name}`,
    ),
    ...['deliveries', 'deliveries list', 'deliveries resend', 'replay', 'logs'],
    'inbox',
    ...['counts', 'list', 'show', 'replay', 'drop'].map((name) => `inbox ${name}`),
  ]

  it.each(commands)('of %s work unchanged', async (command) => {
    const lines = await readHelp(command)
    expect(lines.length).toBeGreaterThanOrEqual(2)
    await mustRunAll(lines)
  })

  it('of the documents work unchanged', async () => {
    const lines = readDocuments()
    expect(lines.length).toBeGreaterThan(10)
    await mustRunAll(lines)
  })
})
