import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { checkReceiver, formatReport, type Probe } from 'postern/check'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { findEngine } from '../engines/require.ts'
import { HandWritten, SECRET } from './faulty/hand-written.ts'
import { judge } from './judge.ts'

const curl = findEngine('curl')
const python = findEngine('python3')
const folder = mkdtempSync(join(tmpdir(), 'postern-repro-'))
afterAll(() => rmSync(folder, { recursive: true }))

// Replaces `npx postern sign`, which would have to be built and installed first.
const SIGN = `#!${process.execPath}
if (process.argv.slice(2).join(' ') !== 'postern sign') process.exit(2)
const hmac = require('node:crypto').createHmac('sha256', process.env.WEBHOOK_SECRET)
process.stdin.on('data', (part) => hmac.update(part)).on('end', () => console.log('sha256=' + hmac.digest('hex')))
`
writeFileSync(join(folder, 'npx'), SIGN)
chmodSync(join(folder, 'npx'), 0o755)

/** Everything that a check chooses in a request. */
async function record(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  await once(request, 'end')
  const { method, headers, headersDistinct } = request
  const signatures = headersDistinct['x-service-signature']
  const type = method === 'POST' ? headers['content-type'] : undefined
  return JSON.stringify({ method, type, signatures, body: Buffer.concat(parts).toString('latin1') })
}

describe.skipIf(curl === undefined)('the line for the shell', () => {
  it('sends the same again, or runs the check alone', async () => {
    const seen: string[] = []
    const { port, close } = await listen(
      createServer(async (request, response) => {
        seen.push(await record(request))
        response.writeHead(401).end()
      }),
    )
    onTestFinished(close)
    const url = `http://127.0.0.1:${port}/it's/webhooks`
    const { checks } = await checkReceiver(url, { secret: SECRET, only: ['signature', 'bytes', 'get-not-2xx'] })
    const sent = new Set(seen.splice(0))
    const lines = checks.filter(({ repro }) => repro.startsWith('curl '))
    for (const { id, repro } of lines) {
      const env = { ...process.env, WEBHOOK_SECRET: SECRET, PATH: `${folder}${delimiter}${process.env.PATH}` }
      await promisify(execFile)('sh', ['-c', repro], { env })
      const [again = '', ...more] = seen.splice(0)
      expect(more).toEqual([])
      expect(sent.has(again), `${id}: ${again}`).toBe(true)
      sent.delete(again) // each line belongs to its own delivery
    }
    const others = checks.filter(({ repro }) => !repro.startsWith('curl '))
    for (const { id, repro } of others)
      expect(repro).toBe(`npx postern check 'http://127.0.0.1:${port}/it'\\''s/webhooks' --only ${id}`)
    expect(lines.length).toBeGreaterThan(5)
  })
})

it.skipIf(python === undefined)(
  'a report is JUnit that an XML parser reads, whatever an answer contained',
  async () => {
    const probe: Probe = {
      runs: () => Promise.reject(new Error('\u0000\u001b<&>"]]>\uffff\ud800')),
      fail: () => Promise.resolve(),
    }
    const report = await judge(new HandWritten(), { probe, only: ['effect-once'] })
    const script =
      'import sys, xml.etree.ElementTree as t; print(ascii(t.fromstring(sys.stdin.buffer.read()).find(".//failure").get("message")))'
    const { stdout, status } = spawnSync(python ?? '', ['-c', script], { input: formatReport(report, 'junit') })
    expect(status).toBe(0)
    expect(stdout.toString().trim()).toBe(String.raw`'could not be judged: \ufffd\ufffd<&>"]]>\ufffd\ufffd'`)
  },
)
