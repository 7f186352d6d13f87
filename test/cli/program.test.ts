import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { createReceiver, sign } from 'postern'
import { nodeHandler } from 'postern/node'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/hosts.ts'
import { SECRET } from '../check/faulty/hand-written.ts'
import { type BuiltProgram, buildProgram } from './program.ts'
import { recordDeliveries } from './recording-server.ts'
import { runCli } from './run-cli.ts'

const SLOW = 120_000
const BODY = '{"id": "evt_1"}'

let program: BuiltProgram
beforeAll(async () => {
  program = await buildProgram()
  await writeFile(join(program.folder, 'body.json'), BODY)
  await writeFile(join(program.folder, 'body.bin'), BODY)
  await writeFile(join(program.folder, 'line.json'), JSON.stringify({ signature: sign(BODY, SECRET), body: BODY }))
  await writeFile(join(program.folder, 'secret.txt'), `${SECRET}\n`)
}, SLOW)
afterAll(() => program.remove())

/** The lines that the help of a command shows. */
async function readExamples(command: string): Promise<readonly string[]> {
  const { stdout } = await runCli([command, '--help'])
  return [...stdout.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = '']) => line)
}

describe('the examples in the help', () => {
  const commands = ['trigger', 'fixtures', 'check', 'sign', 'verify']

  it.each(commands)('of %s work as they stand', { timeout: SLOW }, async (command) => {
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
    const receiver = createReceiver({ secret: SECRET, logger }).on('*', () => {})
    const handler = nodeHandler(receiver)
    const server = createServer((request, response) => {
      // The probe of a receiver whose runs nobody counts: every event was handled once.
      if (request.url?.startsWith('/probe')) response.end('{"runs":1}')
      else handler(request, response)
    })
    const { port, close } = await listen(server)
    onTestFinished(close)
    const lines = await readExamples(command)
    expect(lines.length).toBeGreaterThanOrEqual(2)
    for (const line of lines) {
      const started = program.start(
        line
          .replaceAll('localhost:3000', `127.0.0.1:${port}`)
          .replace('sha256=...', sign(BODY, SECRET))
          // What it says of the receiver is tested elsewhere; here it must run.
          .replace('postern check', 'postern check --only accepts-valid,duplicate'),
      )
      expect(await started.exitCode, `${line}\n${started.stdout}${started.stderr}`).toBe(0)
    }
  })
})

describe('the program', () => {
  it('ends with its summary and 130 at Ctrl-C', { timeout: SLOW }, async () => {
    const { url } = await recordDeliveries()
    const line = program.start(`exec postern trigger contact.created --count 1000 --rate 20 --to ${url}`)
    await line.until(/ 200 /)
    line.interrupt()
    expect(await line.exitCode).toBe(130)
    expect(line.stderr).toMatch(/^interrupted: \d+ sent, \d+ acknowledged\n$/)
  })

  it('ends quietly when its reader has seen enough', { timeout: SLOW }, async () => {
    const { url } = await recordDeliveries()
    const line = program.start(`postern trigger contact.created --count 300 --to ${url} | head -n 1`)
    expect(await line.exitCode).toBe(0)
    expect(line.stdout.split('\n')).toHaveLength(2)
    expect(line.stderr).not.toMatch(/Error|EPIPE/)
  })

  it('has no colours where nobody sees them', { timeout: SLOW }, async () => {
    const { url } = await recordDeliveries()
    const line = program.start(`postern trigger contact.created --to ${url}`, { FORCE_COLOR: '1', NO_COLOR: '' })
    expect(await line.exitCode).toBe(0)
    expect(line.stdout).not.toContain('\u001b')
  })
})
