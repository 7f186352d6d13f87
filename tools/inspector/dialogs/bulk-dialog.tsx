import { useEffect, useRef, useState } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import { ENDS, endOf, tryAgain, whyNotTried } from '../model/actions.ts'
import { readAddress } from '../model/address.ts'
import { describeError, NoAnswer } from '../model/api.ts'
import { writeWord } from '../model/filter.ts'
import { store } from '../model/store.ts'
import { Button, Field } from '../parts/fields.tsx'
import { ViewLink } from '../parts/small.tsx'
import { count } from '../text/show.ts'
import { closeDialog, Dialog } from './dialog.tsx'

export interface Bulk {
  readonly name: string
  readonly rows: readonly Row[]
  readonly leftOut: ReadonlyMap<string, number>
}

/** Plans to try deliveries or events of the inbox again. @param rows newest first */
export function bulkOf(rows: readonly Row[]): Bulk {
  const leftOut = new Map<string, number>()
  const tried: Row[] = []
  // Deliveries of one event of the inbox are tried by one replay.
  const keys = new Set<string>()
  for (const row of rows.toReversed()) {
    const key = row.inbox?.key ?? row.id
    const reason = whyNotTried(row) ?? (keys.has(key) ? 'the same event' : undefined)
    keys.add(key)
    if (reason !== undefined) leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
    else tried.push(row)
  }
  const isInbox = rows[0]?.webhook === ''
  const name = isInbox ? count(tried.length, 'event', 'events') : count(tried.length, 'delivery', 'deliveries')
  return { name, rows: tried, leftOut }
}

export function openBulk(bulk: Bulk): void {
  store.set({ dialog: () => <BulkDialog bulk={bulk} /> })
}

const ABOUT =
  'The oldest first. A dead letter gets all of its tries again. Handlers that had finished do not run again.'
const START = { done: [] as readonly Row[], refused: 0, lastError: '' }

function Report({ rows }: { readonly rows: readonly Row[] }) {
  const ends = rows.map(endOf)
  const counts = ENDS.map((end) => [ends.filter((each) => each === end).length, end] as const)
  const texts = counts.flatMap(([number, end]) => (number > 0 ? `${number.toLocaleString('en')} ${end}` : []))
  const query = writeWord(writeWord(readAddress().query, 'status', undefined), 'cause', undefined)
  return (
    <>
      : {texts.join(', ')}{' '}
      {ends.includes('failed again') && <ViewLink view={{ query, isGrouped: true }}>Show what failed</ViewLink>}
    </>
  )
}

/** Runs one action on many targets. It shows first how many, and why some are left out. The user can stop it. */
function BulkDialog({ bulk: { name, rows, leftOut } }: { readonly bulk: Bulk }) {
  const [rate, setRate] = useState(20)
  const [{ done, refused, lastError }, setProgress] = useState(START)
  const [state, setState] = useState<'' | 'running' | 'over'>('')
  const pace = useRef(rate)
  pace.current = rate
  const isStopped = useRef(false)
  const start = async (): Promise<false> => {
    let now = START
    setState('running')
    for (const row of rows) {
      if (isStopped.current) break
      const next = performance.now() + 1_000 / pace.current
      try {
        await tryAgain(row)
        now = { ...now, done: [...now.done, row] }
      } catch (error) {
        now = { ...now, refused: now.refused + 1, lastError: describeError(error) }
        if (error instanceof NoAnswer) break
      }
      setProgress(now)
      const restMs = next - performance.now()
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
    }
    setState('over')
    if (isStopped.current) store.say(`stopped: ${now.done.length} of ${rows.length} done, ${now.refused} refused`)
    return false
  }
  const stop = () => {
    isStopped.current = true
  }
  useEffect(() => stop, []) // closing the dialog stops the calls
  const isOver = state === 'over'
  const number = done.length + refused
  return (
    <Dialog
      title={`Try ${name} again`}
      verb={isOver ? 'Close' : `Try again ${rows.length.toLocaleString('en')}`}
      disabled={rows.length === 0 || state === 'running'}
      buttons={
        !isOver && <Button label={state === '' ? 'Cancel' : 'Stop'} onClick={state === '' ? closeDialog : stop} />
      }
      onSubmit={() => isOver || start()}
    >
      <p class="dim">{ABOUT}</p>
      {[...leftOut].map(([reason, number]) => (
        <p key={reason}>{`${number.toLocaleString('en')} left out: ${reason}`}</p>
      ))}
      <Field label="Per second" max={500} value={rate} onInput={setRate} />
      {state === 'running' && (
        <progress max={rows.length} value={number} aria-label="Progress" style={{ width: '100%' }} />
      )}
      <p role="status">
        {state !== '' && `${number} of ${rows.length}`}
        {refused > 0 && `, ${refused} refused: ${lastError}`}
        {isOver && <Report rows={done} />}
      </p>
    </Dialog>
  )
}
