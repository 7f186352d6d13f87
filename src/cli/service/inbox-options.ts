import type { Command } from 'commander'
import { type OpenedInbox, openInbox } from '../../../adapters/stores/sqlite/open-inbox.ts'
import type { InboxEntry } from '../../inbox/inbox.ts'
import { EXIT, ExitError } from '../io.ts'
import { toPrintable, toWord } from '../output/print-table.ts'

/** Options that lead to an inbox. */
export interface InboxOptions {
  readonly sqlite: string
  readonly table?: string
}

export function addInboxOptions(command: Command): Command {
  return command
    .requiredOption('--sqlite <file>', 'the SQLite file of the inbox')
    .option('--table <name>', 'its table (default: postern_inbox)')
}

export function openInboxOf({ sqlite, table }: InboxOptions): OpenedInbox {
  return openInbox(sqlite, table)
}

/** Writes these options for a shell. */
export function writeInboxOptions({ sqlite, table }: InboxOptions): string {
  return `--sqlite ${toWord(sqlite)}${table === undefined ? '' : ` --table ${toWord(table)}`}`
}

/** Reads an item. Ends the command if there is none. */
export async function getEntry({ inbox }: OpenedInbox, key: string, options: InboxOptions): Promise<InboxEntry> {
  const entry = await inbox.get(key)
  if (entry !== undefined) return entry
  throw new ExitError(
    EXIT.failed,
    `The inbox has no event of the key ${toPrintable(key)}: it is done, or was dropped.`,
    {
      fix: `To see what there is: postern inbox list ${writeInboxOptions(options)}`,
    },
  )
}
