import { findHint } from '../../wire/find-hint.ts'
import type { Io } from '../io.ts'

const INVALID_RECORD =
  '422: the schema refuses this record, or the event is too old for the receiver; its log says why. Add a field with --set data.record.NAME=VALUE, or leave out --late.'

/** Says what to do about attempts that were not acknowledged: once for each kind of failure, however many there are. */
export function createHints({ stderr }: Io): (result: string, target: URL) => void {
  const said = new Set<string>()
  return (result, target) => {
    const hint = result === '422' ? INVALID_RECORD : findHint(result, target)
    if (hint === undefined || said.has(hint)) return
    said.add(hint)
    stderr.write(`${hint}\n`)
  }
}
