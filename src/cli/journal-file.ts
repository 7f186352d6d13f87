import { type FileHandle, open, readFile } from 'node:fs/promises'
import type { ReplayJournal } from '../client/client.ts'
import { EXIT, ExitError } from './io.ts'

/** A journal in a file, for its owner only. */
export interface JournalFile extends ReplayJournal, AsyncDisposable {}

/** Opens a journal, or makes it. Ends the command where the file is something else: lines would be added to it. */
export async function openJournal(path: string): Promise<JournalFile> {
  let file: FileHandle
  let text: string
  try {
    file = await open(path, 'a', 0o600)
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new ExitError(EXIT.usage, `${path} cannot be written: ${error instanceof Error ? error.message : error}`)
  }
  if (text !== '' && !text.startsWith('{"webhookId":')) {
    await file.close()
    throw new ExitError(EXIT.usage, `${path} is not a journal of this command. Name another file.`)
  }
  // A line that a crash has cut must not run into the next one.
  if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n')
  return {
    read: () => text.split('\n'),
    append: (line) => file.appendFile(`${line}\n`),
    [Symbol.asyncDispose]: () => file.close(),
  }
}
