import { PosternError } from 'postern'
import type { EmulatorOptions } from 'postern/emulator'
import { manualClock } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { ADA, call, quiet, start } from './support.ts'

const LOGIN = 'POST /api/identity/auth/login'

async function scene(options: EmulatorOptions = {}) {
  const crm = await start({ port: false, clock: manualClock(), ...options })
  const token = await crm.login()
  const ask = (line: string, given: Parameters<typeof call>[2] = { token }) => call(crm, line, given)
  return { crm, ask }
}

describe('an answer of the emulator', () => {
  it.each([
    ['GET /nothing', 404, 'there is nothing at this address'],
    ['GET /_emulator/nothing', 404, 'there is nothing at this address'],
    ['GET /api/nothing', 404, 'there is nothing at this address'],
    ['DELETE /_emulator/clock', 405, 'DELETE is not taken here; use GET, HEAD, POST'],
    ['PUT /api/sales/contacts', 405, 'PUT is not taken here; use GET, HEAD'],
  ])('to %s is %i', async (line, status, message) => {
    const { ask } = await scene()
    const answer = await ask(line)
    expect([answer.status, Object(answer.json).message]).toEqual([status, expect.stringContaining(message)])
    expect(answer.headers.get('allow')).toBe(status === 405 ? message.split('use ')[1] : null)
  })

  it('has the assumed form only on the service', async () => {
    const { ask } = await scene({ assume: { A17: 'nested', A18: 'merged' } })
    expect(await ask('PUT /api/sales/contacts')).toMatchObject({ status: 404, json: { error: { code: 'method' } } })
    expect(await ask('PUT /_emulator/clock')).toMatchObject({ status: 405, json: { statusCode: 405 } })
  })

  it('to a body that is too large closes the connection, and others keep it', async () => {
    const { ask } = await scene()
    const large = { body: `"${'x'.repeat(1_024 * 1_024)}"`, headers: { 'content-length': '1048578' } }
    const { status, headers } = await ask(LOGIN, large)
    expect([status, headers.get('connection')]).toEqual([413, 'close'])
    for (const body of [ADA, { ...ADA, password: 'x' }, {}])
      expect((await ask(LOGIN, { body })).headers.get('connection')).toBeNull()
  })

  it('to pages at other addresses is 403 below /_emulator, and to other names everywhere', async () => {
    const { ask } = await scene()
    const headers = { origin: 'http://evil.test' }
    expect((await ask('GET /_emulator/state', { headers })).status).toBe(403)
    expect((await ask(LOGIN, { body: ADA, headers })).status).toBe(200)
    expect((await ask(LOGIN, { body: ADA, headers: { host: 'evil.test' } })).status).toBe(403)
  })

  /** Makes every use of the clock fail. */
  function fail({ clock }: object & { clock: object }, error: Error): void {
    const value = () => {
      throw error
    }
    Object.defineProperty(clock, 'now', { value })
  }

  it.each([
    new Error('no time'),
    new PosternError('secret_unusable', 'no secret'),
    Object.assign(new Error('any'), { code: 'database_unusable' }),
  ])('is 500 if the emulator fails, and its log says why: %s', async (error) => {
    const logged: unknown[] = []
    const { ask, crm } = await scene({ logger: { ...quiet, error: (fields) => logged.push(fields) } })
    fail(crm, error)
    const { status, json } = await ask('GET /_emulator/clock', {})
    expect([status, json]).toMatchObject([500, { message: 'the emulator failed; its log says why' }])
    expect(logged).toEqual([{ err: error, path: '/_emulator/clock' }])
  })

  it('to the page with a slash at its end leads to the page, with the same query', async () => {
    const { crm } = await scene()
    const { status, headers } = await crm.fetch(
      new Request(`${crm.url}/_inspector/?view=calls`, { redirect: 'manual' }),
    )
    expect([status, headers.get('location')]).toEqual([302, '/_inspector?view=calls'])
  })
})
