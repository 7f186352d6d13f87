import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Program, start as startProgram } from '../support/programs.ts'
import { call, makeFolder, pick, sink, until } from './support.ts'

const makeFile = async () => join(await makeFolder(), 'emulator.db')

async function startChild(file: string): Promise<{ program: Program; url: string }> {
  const program = startProgram('--import', {}, 'tsx', 'test/emulator/program.ts', file)
  onTestFinished(() => void program.child.kill('SIGKILL'))
  const url = () => /^ready (\S+)$/m.exec(program.output)?.[1]
  await until(() => url() !== undefined || program.child.exitCode !== null, 30_000)
  return { program, url: url() ?? '' }
}

describe('kill -9', () => {
  it('loses no pending delivery: every event arrives, and the schedule goes on', async () => {
    const file = await makeFile()
    const receiver = await sink(Date, 500)
    const first = await startChild(file)
    const login = await call(first, 'POST /api/identity/auth/login', {
      body: { email: 'ada@acme.test', password: 'password' },
    })
    const body = { url: receiver.url, events: ['contact.created'] }
    await call(first, 'POST /api/integrations/webhooks', { token: pick(login.json, 'accessToken'), body })
    const sent: string[] = []
    for (let round = 0; round < 5; round++) {
      const { json } = await call(first, 'POST /_emulator/events', { body: { type: 'contact.created', count: 20 } })
      for (const { id } of Object(json).events) sent.push(id)
    }
    first.program.child.kill('SIGKILL')
    await first.program.exitCode
    receiver.answers = [200]
    const second = await startChild(file)
    await until(
      () => new Set(receiver.received.map(({ body }) => JSON.parse(String(body)).id)).size >= sent.length,
      30_000,
    )
    const state = async () => Object((await call(second, 'GET /_emulator/state')).json)
    for (let left = Number.NaN; left !== 0; left = (await state()).counts.pending)
      await new Promise((resolve) => setTimeout(resolve, 50))
    const log = Object((await call(second, 'GET /_emulator/deliveries')).json)
    expect(new Set(log.map(({ eventId }: { eventId: string }) => eventId))).toEqual(new Set(sent))
    expect(new Set(log.map(({ status }: { status: string }) => status))).toEqual(new Set(['success']))
    // The count of attempts continues: no number is there twice, none is missing.
    for (const { attempts } of log)
      expect(attempts.map(({ number }: { number: number }) => number)).toEqual(
        attempts.map((_each: object, index: number) => index + 1),
      )
  })

  it('is the end of the lock; until then a second process is refused', async () => {
    const file = await makeFile()
    const first = await startChild(file)
    const refused = await startChild(file)
    expect(await refused.program.exitCode).toBe(3)
    expect(refused.program.output).toMatch(/database_unusable/)
    first.program.child.kill('SIGKILL')
    await first.program.exitCode
    expect((await startChild(file)).url).toMatch(/^http:/)
  })
})
