import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BuiltProgram, buildProgram } from './program.ts'
import { recordDeliveries } from './recording-server.ts'
import { readLines } from './run-cli.ts'
import { serve } from './serve.ts'

let program: BuiltProgram
beforeAll(async () => {
  program = await buildProgram()
  await writeFile(join(program.folder, 'body.json'), '{"id": "evt_1"}')
})
afterAll(() => program.remove())

describe('the program', () => {
  it('ends with its summary and 130 at Ctrl-C', async () => {
    const { url } = await recordDeliveries()
    const line = program.start(`exec postern trigger contact.created --count 1000 --rate 20 --to ${url}`)
    await line.until(/ 200 /)
    line.interrupt()
    expect(await line.exitCode).toBe(130)
    expect(line.stderr).toMatch(/^interrupted: \d+ sent, \d+ acknowledged(; \d+ cut off, which may have arrived)?\n$/)
  })

  it.each([
    'verify --header x',
    'sign',
    'sign body.json --secret-stdin',
    'trigger contact.created --data - --to http://127.0.0.1:9/',
  ])('ends with 130 at the first Ctrl-C while it reads a pipe that stays open: %s', async (args) => {
    // More than a pipe holds: the end is written when the command has begun to read. Each opens it anew: Node makes its own end non-blocking.
    const feed = '(head -c 100000 /dev/zero >pipe; echo reading >&2) &'
    const line = program.start(`rm -f pipe; mkfifo pipe; exec 3<>pipe; ${feed} exec postern ${args} <pipe`)
    await line.until(/reading/)
    line.interrupt()
    expect(await line.exitCode, line.stderr).toBe(130)
    expect(line.stderr).toBe('reading\npostern: interrupted\n')
  })

  it.skipIf(process.platform !== 'linux').each([
    ['needs --yes to a question', '', 2, /would be deleted\. If this is intended, add --yes\./],
    ['goes on without one', ' --yes', 0, /webhook \w+ is deleted/],
  ])('%s if the password was typed at the terminal', async (_what, more, code, message) => {
    const { env, create } = await serve()
    const command = `postern webhooks delete ${create().id} --password-stdin${more}`
    // The shell would read keys that arrive before the program reads.
    const typed = `typed-${code}` // the content of the terminal, as `script` writes it
    const isAsked = `grep -qs 'reading standard input' ${typed}`
    const keys = `until ${isAsked}; do sleep 0.1; done; printf 'password\\n\\004'; sleep 5`
    const line = program.start(`(${keys}) | script -qefc '${command}' ${typed}`, env)
    expect(await line.exitCode, line.stdout).toBe(code)
    expect(line.stdout).toMatch(message)
  })

  it.skipIf(process.platform !== 'linux').each([
    ['Ctrl-Z', "printf '\\032'"],
    ['a signal of another terminal', 'kill -STOP $(cat pid)'],
  ])('stops at %s like any job, and takes keys again after fg', async (_what, stop) => {
    const see = `see() { until [ "$(grep -c "$1" job 2> none)" -ge "$2" ]; do sleep 0.1; done 2> none; }`
    const dev = `sh -c "echo \\$\\$ > pid; exec postern dev --port 0 --forward http://127.0.0.1:9/"`
    const keys = [
      `printf '%s\\n' '${dev}'; see 'keys  ' 1; ${stop}; see Stopped 1; printf 'fg\\nh'; see 'keys  ' 2`,
      `printf q; see '0 deliveries' 1; printf 'stty\\n'; see speed 1; printf 'exit\\n'`,
    ]
    const line = program.start(`rm -f job; ${see}; (${keys.join('; ')}) | script -qefc 'bash --norc -i' job`)
    expect(await line.exitCode, line.stdout).toBe(0)
    const [, modes = ''] = line.stdout.split('speed')
    expect(modes).not.toMatch(/-icanon|-echo\b/)
  })

  it('continues with its state, in a data file that is not shared', async () => {
    let isOver = false // a slow machine may see the second attempt before the first run has ended
    const { received, url } = await recordDeliveries(() => (isOver ? 200 : 500))
    const dev = `exec postern dev --port 0 --json --forward ${url} --env .env.data --data dev.db --retry-scale 15`
    const first = program.start(dev)
    await first.until(/"ready"/)
    expect((await stat(join(program.folder, 'dev.db'))).mode & 0o777).toBe(0o600)
    const [{ url: emulator } = {}] = readLines(first.stdout)
    const watch = program.start(`postern trigger contact.created --watch --emulator ${emulator}`)
    await first.until(/"status":500/)
    first.kill()
    await first.exitCode
    isOver = true
    expect(await watch.exitCode).toBe(3)
    expect(watch.stderr).toContain('no longer answers')
    const secret = await readFile(join(program.folder, '.env.data'), 'utf8')
    const second = program.start(dev)
    await second.until(/"number":([2-9]|\d\d+),.*"status":200/)
    const third = program.start(dev)
    expect(await third.exitCode).toBe(3)
    expect(third.stderr).toMatch(/another process/)
    second.interrupt()
    expect(await second.exitCode).toBe(130)
    expect(received.length).toBeGreaterThan(1)
    expect(new Set(received.map(({ event }) => event.id)).size).toBe(1)
    expect(await readFile(join(program.folder, '.env.data'), 'utf8')).toBe(secret)
  })
})
