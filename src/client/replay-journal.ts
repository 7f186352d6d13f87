import { OptionChecker } from '../protocol/option-checker.ts'
import { parseJson } from '../protocol/parse-json.ts'
import { show } from '../protocol/show.ts'

/** Journal of the retries of one replay, so that an interrupted replay resumes without repeating any. Use one for each replay. */
export interface ReplayJournal {
  /** Returns the lines that were appended before, in their order. */
  read(): Iterable<string> | Promise<Iterable<string>>
  /** Called before each retry, after the service accepted it, and once with the start of the period to replay. */
  append(line: string): void | Promise<void>
}

/** Line of a journal: a retry, or the start of the period. */
export interface JournalLine {
  readonly webhookId: string
  /** Null for the whole log. */
  readonly since?: string | null
  readonly deliveryId?: string
  readonly attempts?: number | undefined
  readonly step?: 'asked' | 'accepted'
}

const check = new OptionChecker('replayFailed')

/** Reads the lines of one webhook: the retries by the id of their delivery. A crash may have truncated the last line. */
export async function readJournal(journal: ReplayJournal | undefined, webhookId: string) {
  const retries = new Map<string, JournalLine>()
  let since: Date | null | undefined
  const lines: unknown = (await journal?.read()) ?? []
  // Text and bytes are iterable as well, by character and by byte.
  const isList = typeof lines === 'object' && !ArrayBuffer.isView(lines) && Symbol.iterator in Object(lines)
  if (!isList) throw check.invalid(`journal.read returned ${show(lines)}; give a list of the lines: text.split('\\n').`)
  for (const text of lines as Iterable<unknown>) {
    if (typeof text !== 'string' || /\n\s*\S/.test(text))
      throw check.invalid(
        `journal.read returned a list with ${typeof text === 'string' ? 'several lines in one item' : show(text)}; give each line that append took, as text.`,
      )
    const line: JournalLine = Object(parseJson(text))
    const { deliveryId } = line
    if (line.webhookId !== webhookId) continue
    // The first retry counts: it changed the number in the log before the second was made.
    if (deliveryId !== undefined)
      retries.set(deliveryId, { ...line, attempts: (retries.get(deliveryId) ?? line).attempts })
    else if (line.since !== undefined) since = line.since === null ? null : new Date(line.since)
  }
  return { since, retries }
}
