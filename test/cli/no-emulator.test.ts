import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../adapters/http/hosts.ts'
import { runCli, startCli } from './run-cli.ts'

describe('what is no emulator', () => {
  const ready = JSON.stringify({ type: 'ready' })
  const state = { settings: { retryScale: 1 }, clock: { isManual: false }, counts: { pending: 0 }, faults: {} }
  const commands = [
    ['trigger', 'contact.created'],
    ['clock'],
    ['faults', 'show'],
    ['faults', 'set', '--fail', '0.1'],
    ['records', 'list', 'contact'],
    ['logs'],
  ]
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

  it.each([
    ['HTML', '<html>'],
    ['other JSON', '{"type":"ready"}'],
    ['null', 'null'],
  ])('ends every command with 3 and one line if it answers %s', async (_what, text) => {
    const url = await startOther((_path, response) => response.end(text))
    for (const command of commands)
      expect(await runCli([...command, '--emulator', url])).toMatchObject({
        code: 3,
        stdout: '',
        stderr: `postern: What answers at ${url} is no emulator, or one of another version.\n`,
      })
  })

  it('cannot reach into the terminal, nor into a line for the shell', async () => {
    const evil = '\u001b]0;owned\u0007\u202e'
    const refusing = await startOther((_path, response) =>
      response.writeHead(400).end(JSON.stringify({ message: evil })),
    )
    const refused = await runCli(['clock', '--emulator', refusing, '--json'])
    expect(refused).toMatchObject({ code: 2, stderr: 'postern: The emulator refused: ?]0;owned??\n' })
    expect(refused.stdout).not.toContain('\u202e')
    const webhook = { id: "x'; rm -rf .", accountKey: 'acme', events: ['contact.created'], active: false }
    const lying = await startOther((path, response) =>
      response.end(JSON.stringify(path === 'state' ? { ...state, webhooks: [webhook] } : { events: [] })),
    )
    const { stderr } = await runCli(['trigger', 'contact.created', '--emulator', lying])
    expect(stderr).toContain(`postern webhooks resume 'x'\\''; rm -rf .'\n`)
  })

  it.each([
    ['its state', ['trigger', 'contact.created'], /^state/],
    ['an event', ['trigger', 'contact.created', '--watch'], /^events/],
    ['a delivery', ['trigger', 'contact.created', '--watch'], /^deliveries/],
    ['its last state', ['logs'], /^state\?last/],
  ])('that hangs when asked for %s is left at Ctrl-C', async (_what, command, hanging) => {
    let count = 0
    let isReached = () => {}
    const reached = new Promise<void>((resolve) => {
      isReached = resolve
    })
    const url = await startOther((path, response) => {
      const name = path === 'state' && count++ > 0 ? 'state?last' : path
      if (path === 'stream') isReached()
      if (hanging.test(name)) return isReached()
      if (path === 'stream') return response.write(`data: ${ready}\n\n`)
      response.end(JSON.stringify(path === 'state' ? { ...state, webhooks: [] } : { events: [{ deliveries: ['d1'] }] }))
    })
    const running = startCli([...command, '--emulator', url])
    await reached
    const begin = performance.now()
    running.interrupt()
    expect(await running.exitCode).toBe(130)
    expect(performance.now() - begin).toBeLessThan(4_000)
    expect(running.stderr).toMatch(/interrupted|0 acknowledged, 0 failed\n$/)
    expect(running.stderr.includes('it may have occurred')).toBe(hanging.test('events'))
  })
})
