import { useEffect, useRef, useState } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import { tryAgain, whyNotTried } from '../model/actions.ts'
import { describeError, NoAnswer } from '../model/api.ts'
import { store } from '../model/store.ts'
import { Button, Field } from '../parts/fields.tsx'
import { count } from '../text/show.ts'
import { closeDialog, Dialog } from './dialog.tsx'

/** One action on many deliveries or events. */
export interface Bulk {
  readonly name: string
  /** Calls in their order. Each rejects if it is refused. */
  readonly calls: readonly (() => Promise<unknown>)[]
  readonly leftOut: ReadonlyMap<string, number>
}

/** Plans to try deliveries or events of the inbox again. @param rows newest first */
export function bulkOf(rows: readonly Row[]): Bulk {
  const leftOut = new Map<string, number>()
  const calls: Bulk['calls'][number][] = []
  // Deliveries of one event of the inbox are tried by one replay.
  const keys = new Set<string>()
  for (const row of rows.toReversed()) {
    const key = row.inbox?.key ?? row.id
    const reason = whyNotTried(row) ?? (keys.has(key) ? 'the same event' : undefined)
    keys.add(key)
    if (reason !== undefined) leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
    else calls.push(() => tryAgain(row))
  }
  const isInbox = rows[0]?.webhook === ''
  const name = isInbox ? count(calls.length, 'event', 'events') : count(calls.length, 'delivery', 'deliveries')
  return { name, calls, leftOut }
}

export function openBulk(bulk: Bulk): void {
  store.set({ dialog: () => <BulkDialog bulk={bulk} /> })
}

const START = { done: 0, refused: 0, lastError: '' }

/** Runs one action on many targets. It shows first how many, and why some are left out. The user can stop it. */
function BulkDialog({ bulk: { name, calls, leftOut } }: { readonly bulk: Bulk }) {
  const [rate, setRate] = useState(20)
  const [{ done, refused, lastError }, setProgress] = useState(START)
  const [state, setState] = useState<'' | 'running' | 'over'>('')
  const pace = useRef(rate)
  pace.current = rate
  const isStopped = useRef(false)
  const start = async (): Promise<false> => {
    let now = START
    setState('running')
    for (const call of calls) {
      if (isStopped.current) break
      const next = performance.now() + 1_000 / pace.current
      try {
        await call()
        now = { ...now, done: now.done + 1 }
      } catch (error) {
        now = { ...now, refused: now.refused + 1, lastError: describeError(error) }
        if (error instanceof NoAnswer) break
      }
      setProgress(now)
      const restMs = next - performance.now()
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
    }
    setState('over')
    if (isStopped.current) store.say(`stopped: ${now.done} of ${calls.length} done, ${now.refused} refused`)
    return false
  }
  const stop = () => {
    isStopped.current = true
  }
  useEffect(() => stop, []) // closing the dialog stops the calls
  const isOver = state === 'over'
  return (
    <Dialog
      title={`Try ${name} again`}
      verb={isOver ? 'Close' : `Try again ${calls.length.toLocaleString('en')}`}
      disabled={calls.length === 0 || state === 'running'}
      buttons={
        !isOver && <Button label={state === '' ? 'Cancel' : 'Stop'} onClick={state === '' ? closeDialog : stop} />
      }
      onSubmit={() => isOver || start()}
    >
      <p class="dim">
        The oldest first. A failed delivery gets one more attempt, a waiting event its next try, and a dead letter all
        of its tries; handlers that had finished do not run again.
      </p>
      {[...leftOut].map(([reason, number]) => (
        <p key={reason}>{`${number.toLocaleString('en')} left out: ${reason}`}</p>
      ))}
      <Field label="Per second" max={500} value={rate} onInput={setRate} />
      {state !== '' && <progress max={calls.length} value={done + refused} aria-label="Progress" />}
      <p role="status">
        {state !== '' && `${done + refused} of ${calls.length}`}
        {refused > 0 && `, ${refused} refused: ${lastError}`}
      </p>
    </Dialog>
  )
}
