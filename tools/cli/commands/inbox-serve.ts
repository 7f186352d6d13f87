import { serveInbox } from '../../emulator/inspector/serve-inbox.ts'
import { readPort } from '../input/emulator-options.ts'
import { untilQuit } from '../input/keys.ts'
import { emit, endIfInterrupted, type Io, tell, usageError } from '../io.ts'
import { openInBrowser } from '../output/open-in-browser.ts'
import { toPrintable } from '../output/print-table.ts'
import { type InboxCommandOptions, writeInboxOptions } from '../service/inbox-options.ts'
import { createLateInbox } from '../service/late-inbox.ts'
import type { AddCommand } from './add-group.ts'

interface ServeOptions extends InboxCommandOptions {
  readonly port: number
  readonly write?: true
}

const DEFAULT_PORT = 4020
const TOKEN_VARIABLE = 'POSTERN_INBOX_TOKEN'
const SHORTEST_TOKEN = 16

/** `postern inbox serve`: the inspector's page for an inbox alone. */
export function addInboxServe(add: AddCommand, io: Io): void {
  add(
    'serve',
    `Open a page of the inbox on this machine: what waits, runs and is dead, with every try. The address that is printed holds a token,
a new one at each start, or the one in ${TOKEN_VARIABLE}. From elsewhere: ssh -L ${DEFAULT_PORT}:localhost:${DEFAULT_PORT} HOST`,
    'serve --sqlite data/app.db',
    'serve --redis redis://localhost:6379 --write --port 4021',
  )
    .option('--write', 'let whoever has the address replay and drop')
    .option('--port <n>', 'where it listens', readPort, DEFAULT_PORT)
    .option('--json', 'print the address as one JSON object to standard output')
    .action((options: ServeOptions) => serve(options, io))
}

async function serve({ port, write, ...options }: ServeOptions, io: Io): Promise<void> {
  const token = io.env[TOKEN_VARIABLE] || undefined
  if (token !== undefined && token.length < SHORTEST_TOKEN)
    throw usageError(`${TOKEN_VARIABLE} is too short to be a secret.`, {
      fix: `Give at least ${SHORTEST_TOKEN} characters that nobody can guess, or leave it out.`,
    })
  await using inbox = createLateInbox(options, io.env)
  await inbox.counts() // fails now if there is no inbox
  const serving = {
    port,
    token,
    isWritable: write === true,
    onAction: (action: string, key: string) => tell(io, `${new Date().toISOString()}  ${action}  ${toPrintable(key)}`),
    onFault: (error: unknown) => tell(io, `the page failed: ${error instanceof Error ? error.stack : error}`),
  }
  await using server = await serveInbox(inbox, serving)
  const text = `inbox      ${writeInboxOptions(options).replace(/^--/, '')}
rights     ${write ? 'whoever has the address can replay and drop' : 'read-only: --write lets people replay and drop'}
page       ${server.url}${io.listenToKeys ? '\nkeys       o open it in the browser, q quit' : ''}`
  emit(io, { type: 'ready', url: server.url, isWritable: write === true }, text, io.stderr)
  await untilQuit(io, async (key) => {
    if (key === 'o') await openInBrowser(server.url, io)
  })
  endIfInterrupted(io)
}
