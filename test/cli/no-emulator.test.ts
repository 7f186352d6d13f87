import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { call, start } from '../emulator/support.ts'
import { Gate } from '../support/gate.ts'
import { readLines, runCli, startCli } from './run-cli.ts'

/** Returns the state of an emulator with an active webhook. */
async function readState(): Promise<{ readonly webhooks: readonly object[] }> {
  const crm = await start({ port: false })
  crm.webhooks.create({ url: 'http://127.0.0.1:1/', events: ['contact.created'] })
  return Object((await call(crm, 'GET /_emulator/state')).json)
}

describe('a server that is not an emulator', () => {
  const ready = JSON.stringify({ type: 'ready', bootId: '1', now: '' })
  /** Answers `ready` like an emulator, and everything else as the test says. */
  async function startOther(answer: (path: string, response: ServerResponse) => void) {
    const { port, close } = await listen(
      createServer(({ url = '' }, response) =>
        url.endsWith('/ready') ? response.end(ready) : answer(url.replace('/_emulator/', ''), response),
      ),
    )
    onTestFinished(close)
    return `http://127.0.0.1:${port}`
  }

  it.each(['trigger contact.created', 'logs'])(
    'ends every command with 3 and one line if its answers have other fields: %s',
    async (command) => {
      const url = await startOther((path, response) =>
        response.end(path === 'stream' ? `data: ${ready}\n\ndata: {}\n\n` : '{"webhooks":{}}'),
      )
      const { code, stdout, stderr } = await runCli(`${command} --emulator ${url} --json`)
      expect(code).toBe(3)
      expect(stderr).toMatch(/is not an emulator, or one of another version\.\n$/)
      expect(readLines(stdout).at(-1)).toMatchObject({ error: { code: 'unreachable' } })
    },
  )

  it('cannot reach the terminal, nor a line for the shell', async () => {
    const evil = '\u001b]0;owned\u0007\u202e'
    const refusing = await startOther((_path, response) =>
      response.writeHead(400).end(JSON.stringify({ message: evil })),
    )
    const refused = await runCli(`trigger contact.created --emulator ${refusing} --json`)
    expect(refused).toMatchObject({ code: 2, stderr: 'postern: The emulator refused: ?]0;owned??\n' })
    expect(refused.stdout).not.toContain('\u202e')
    const state = await readState()
    const webhooks = state.webhooks.map((webhook) => ({ ...webhook, id: "x'; rm -rf .", active: false }))
    const lying = await startOther((path, response) =>
      response.end(JSON.stringify(path === 'state' ? { ...state, webhooks } : { events: [] })),
    )
    const { stderr } = await runCli(['trigger', 'contact.created', '--emulator', lying])
    expect(stderr).toContain(`so nothing is delivered. Resume it at ${lying}/_inspector\n`)
  })

  it.each([
    ['an event', ['trigger', 'contact.created', '--watch'], /^events/],
    ['a delivery', ['trigger', 'contact.created', '--watch'], /^deliveries/],
    ['its last state', ['logs'], /^state\?last/],
  ])('ends at Ctrl-C if it hangs when asked for %s', async (_what, command, hanging) => {
    const state = await readState()
    const events = { events: [{ id: 'e1', type: 'contact.created', deliveries: ['d1'] }] }
    let count = 0
    const reached = new Gate()
    const url = await startOther((path, response) => {
      const name = path === 'state' && count++ > 0 ? 'state?last' : path
      if (path === 'stream') reached.open()
      if (hanging.test(name)) return reached.open()
      if (path === 'stream') return response.write(`data: ${ready}\n\n`)
      response.end(JSON.stringify(path === 'state' ? state : events))
    })
    const running = startCli([...command, '--emulator', url])
    await reached.promise
    running.interrupt()
    expect(await running.exitCode).toBe(130)
    expect(running.stderr).toMatch(/interrupted|0 acknowledged, 0 failed\n$/)
    expect(running.stderr.includes('it may have occurred')).toBe(hanging.test('events'))
  })
})
