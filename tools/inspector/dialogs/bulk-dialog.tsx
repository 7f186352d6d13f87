import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import { tryAgain, whyNotTried } from '../model/actions.ts'
import { describeError, NoAnswer } from '../model/api.ts'
import { store } from '../model/store.ts'
import { Button, Field } from '../parts/fields.tsx'
import { count } from '../text/count.ts'
import { closeDialog, Dialog } from './dialog.tsx'

/** One action on many deliveries or events. */
export interface Bulk {
  /** Number and noun of the targets. */
  readonly name: string
  /** Calls in their order. Each rejects if it is refused. */
  readonly calls: readonly (() => Promise<unknown>)[]
  /** Reasons why some are left out, each with their number. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** Plans to try deliveries or dead letters again. @param rows newest first */
export function bulkOf(rows: readonly Row[]): Bulk {
  const leftOut = new Map<string, number>()
  const calls: Bulk['calls'][number][] = []
  // Deliveries of one dead letter are tried by one replay.
  const keys = new Set<string>()
  for (const row of rows.toReversed()) {
    const { state, key = row.id } = row.inbox ?? {}
    const reason = whyNotTried(row) ?? (state === 'dead' && keys.has(key) ? 'the same dead letter' : undefined)
    keys.add(key)
    if (reason !== undefined) leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1)
    else calls.push(() => tryAgain(row))
  }
  const isInbox = rows[0]?.webhook === ''
  const name = isInbox
    ? count(calls.length, 'dead letter', 'dead letters')
    : count(calls.length, 'delivery', 'deliveries')
  return { name, calls, leftOut }
}

/** Shows what is to be tried again, before it begins. */
export function openBulk(bulk: Bulk): void {
  store.set({ dialog: () => <BulkDialog bulk={bulk} /> })
}

const START = { done: 0, refused: 0, lastError: '', isRunning: false }

/** Runs one action on many targets. It shows first how many, and why some are left out. The user can stop it. */
function BulkDialog({ bulk }: { readonly bulk: Bulk }): JSX.Element {
  const { name, calls, leftOut } = bulk
  const [rate, setRate] = useState(20)
  const { progress, start, stop } = useBulk(calls, rate)
  const { done, refused, lastError, isRunning } = progress
  const made = done + refused
  const isOver = made > 0 && !isRunning
  return (
    <Dialog
      title={`Try ${name} again`}
      verb={isOver ? 'Close' : `Try again ${calls.length.toLocaleString('en')}`}
      disabled={calls.length === 0 || isRunning}
      buttons={!isOver && <Button label={isRunning ? 'Stop' : 'Cancel'} onClick={isRunning ? stop : closeDialog} />}
      onSubmit={async () => isOver || (await start())}
    >
      <p class="dim">
        The oldest first. A failed delivery gets one more attempt, and a dead letter all of its tries; handlers that had
        finished do not run again.
      </p>
      {[...leftOut].map(([reason, number]) => (
        <p key={reason}>{`${number.toLocaleString('en')} left out: ${reason}`}</p>
      ))}
      <Field label="Per second" max={500} value={rate} onInput={setRate} />
      {made > 0 && <progress max={calls.length} value={made} aria-label="Progress" />}
      <p role="status" class="dim">
        {made > 0 && `${made} of ${calls.length}${isOver && made < calls.length ? ', stopped' : ''}`}
        {refused > 0 && `, ${refused} refused: ${lastError}`}
      </p>
    </Dialog>
  )
}

/** Makes the calls one after the other, at the chosen rate, until all are made, the user stops it, or the server does not answer. */
function useBulk(calls: Bulk['calls'], rate: number) {
  const [progress, setProgress] = useState(START)
  const end = useRef<'stopped' | 'closed' | undefined>(undefined)
  const pace = useRef(rate)
  pace.current = rate
  const start = async (): Promise<false> => {
    let now = { ...START, isRunning: true }
    setProgress(now)
    for (const call of calls) {
      if (end.current !== undefined) break
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
    setProgress({ ...now, isRunning: false })
    if (end.current === 'closed') store.say(`stopped: ${now.done} of ${calls.length} done, ${now.refused} refused`)
    return false
  }
  const stop = () => {
    end.current = 'stopped'
  }
  const close = () => {
    end.current = 'closed'
  }
  useEffect(() => close, []) // closing the dialog stops the calls
  return { progress, start, stop }
}
