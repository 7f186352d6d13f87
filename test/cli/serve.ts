import { onTestFinished } from 'vitest'
import { PASSWORD, type Reply, startService } from '../client/support.ts'
import { start } from '../emulator/support.ts'
import { runCli } from './run-cli.ts'

export const APP = 'https://app.example.test/hooks'

/** The credentials of the emulator's first account. */
export const ADA = { POSTERN_EMAIL: 'ada@acme.test', POSTERN_PASSWORD: 'password' }

/** An emulator, and command lines for its first account. */
export async function serve(...options: Parameters<typeof start>) {
  const crm = await start(...options)
  const env = { ...ADA, POSTERN_BASE_URL: crm.url }
  const create = (fields: Partial<{ url: string; events: readonly string[]; active: boolean }> = {}) =>
    crm.webhooks.create({ url: APP, events: ['contact.created'], ...fields })
  /** Takes the words of a command line, or all of it as one text. */
  const run = (...words: string[]) => runCli(words.length === 1 ? words.join() : words, { env })
  return { crm, env, create, run }
}

/** A service that answers as the test says, at the first try. */
export async function serveHandMade(answer: Reply, login?: Reply) {
  const service = await startService(() => answer, login && (() => login))
  onTestFinished(() => service.close())
  const env = { POSTERN_EMAIL: 'ada@acme.test', POSTERN_PASSWORD: PASSWORD, POSTERN_BASE_URL: service.url }
  return { service, run: (...args: string[]) => runCli([...args, '--retries', '0'], { env }) }
}
