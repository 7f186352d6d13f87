import { join } from 'node:path'
import { createReceiver } from 'postern'
import { openSqlite, sqliteInbox } from 'postern/sqlite'
import { events, manualClock, signed, silentLogger } from 'postern/testing'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { entries } from '../scripts/entries.ts'
import { makeTestFolder } from './support/test-folder.ts'
import { findSilent, listFunctions, Options } from './support/wrong-calls.ts'
import { ACCEPTING, CALLS, closeAll, MISTAKES, RETURNED, WARNED } from './support/wrong-calls-table.ts'

afterAll(closeAll)

describe('each wrong call of plain JavaScript is refused by an error that names the mistake', () => {
  it.each(Object.entries(CALLS))('%s', async (path, call) => {
    expect(await findSilent(path, call)).toEqual([])
  })
})

it.each(MISTAKES)('%s is refused by an error that names the mistake', async (_what, call, told) => {
  await expect(async () => await call()).rejects.toThrow(told)
})

/** Options that may not be left out, each behind its function. */
const REQUIRED = / (secret|keys|client|pool|connection|baseUrl|email|password)$|^sqlite.* database$/
const isFactory = (path: string) =>
  /\w(Store|Inbox|Handler|Sqlite|Client|Events|Emulator)$|\.(createReceiver|receiveFrom|on|instrument)$/.test(path)

it.each(Object.entries(CALLS).filter(([path]) => isFactory(path)))(
  '%s takes undefined for each option that may be left out',
  async (path, { of, given }) => {
    const leaveOut = ({ values }: Options) =>
      Object.entries(values).map(([name, value]) => [name, REQUIRED.test(`${path} ${name}`) ? value : undefined])
    const args = Object.values(given).map((value) =>
      value instanceof Options ? Object.fromEntries(leaveOut(value)) : value,
    )
    const made: unknown = await Reflect.apply(of() as () => unknown, undefined, args)
    await Object(made).close?.()
  },
)

it.each(WARNED)('%s is warned of once', async (_what, cause, told) => {
  vi.stubEnv('NODE_ENV', 'staging')
  onTestFinished(() => void vi.unstubAllEnvs())
  const lines: string[] = []
  const note = (_fields: object, text: string) => void lines.push(text)
  await cause({ debug() {}, info() {}, warn: note, error: note }, manualClock('2025-01-01T00:00:00Z'))
  expect(lines).toEqual([expect.stringMatching(told)])
})

it('does not warn of an inbox whose events another process takes', async () => {
  const lines: string[] = []
  const clock = manualClock()
  const database = openSqlite(join(makeTestFolder(), 'app.db'))
  const inbox = sqliteInbox({ database, clock })
  const logger = { ...silentLogger, warn: (_fields: object, text: string) => void lines.push(text) }
  const receiver = createReceiver({ secret: 'test-secret', logger, clock, inbox }).on('*', () => {})
  for (let minute = 0; minute < 9; minute++) {
    await receiver.receive(signed(events.contact.created(), { secret: 'test-secret' }))
    database.exec('DELETE FROM postern_inbox')
    await clock.advance('1m')
  }
  expect(lines).toEqual([])
})

it('knows each exported function, and each method of what they return', async () => {
  const known = new Set(Object.keys(CALLS).map((path) => path.replace(/ .*/, '')))
  const paths: string[] = []
  for (const name of Object.keys(entries)) {
    const path = name === 'index' ? 'postern' : `postern/${name}`
    const exported: Readonly<Record<string, unknown>> = await import(/* @vite-ignore */ path)
    paths.push(...Object.entries(exported).flatMap(([each, value]) => listFunctions(value, `${name}.${each}`)))
  }
  for (const [path, value] of Object.entries(RETURNED)) paths.push(...listFunctions(value, path))
  const unknown = paths.filter(
    (path) => !known.has(path) && !Object.keys(ACCEPTING).some((each) => matches(each, path)),
  )
  expect(unknown).toEqual([])
  const idle = Object.keys(ACCEPTING).filter((each) => !paths.some((path) => matches(each, path)))
  expect([idle, [...known].filter((path) => !paths.includes(path))]).toEqual([[], []])
})

/** @param pattern a path, whose star stands for anything */
function matches(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replace(/[.()]/g, '\\$&').replaceAll('*', '.*')}$`).test(path)
}
