import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, describeError, toPath } from '../model/api.ts'
import { whyNotResent, whyNotRetried } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { type BulkAction, ui } from '../model/ui.ts'
import { count } from '../parts/announcer.tsx'
import { DialogFrame } from './dialog-frame.tsx'

interface BulkOptions {
  readonly action: BulkAction
  readonly rows: readonly PlacedRow[]
}

interface Progress {
  readonly done: number
  readonly refused: number
  readonly lastError: string | undefined
  readonly isRunning: boolean
}

const START: Progress = { done: 0, refused: 0, lastError: undefined, isRunning: false }

/** Does the same with many deliveries: says first how many, and why some are left out; can be stopped. */
export function BulkDialog({ action, rows }: BulkOptions): JSX.Element {
  const whyNot = action === 'retry' ? whyNotRetried : whyNotResent
  const [eligible] = useState(() => rows.filter((row) => whyNot(row) === undefined).toReversed())
  const [rate, setRate] = useState(20)
  const { progress, start, stop } = useBulk(eligible, action, rate)
  const { done, refused, lastError, isRunning } = progress
  const isOver = done + refused > 0 && !isRunning
  const verb = action === 'retry' ? 'Retry' : 'Resend'
  return (
    <DialogFrame
      title={`${verb} ${count(eligible.length, 'delivery', 'deliveries')}`}
      onSubmit={() => (isOver ? undefined : start())}
    >
      <p>
        {action === 'retry'
          ? 'Each gets one more attempt, with the same event id. The oldest goes first.'
          : 'The same bytes go out once more, each as a delivery of its own. The oldest goes first.'}
      </p>
      <LeftOut rows={rows} whyNot={whyNot} />
      <div class="fields">
        <label>
          A second{' '}
          <input
            type="number"
            min={1}
            max={500}
            value={rate}
            onInput={(event) => setRate(Math.min(500, Math.max(1, Number(event.currentTarget.value) || 1)))}
          />
        </label>
        <span class="push" />
        {isOver ? (
          <button type="button" class="main" onClick={() => ui.open(undefined)}>
            Close
          </button>
        ) : (
          <>
            {isRunning && (
              <button type="button" onClick={stop}>
                Stop
              </button>
            )}
            <button type="submit" class="main" disabled={eligible.length === 0 || isRunning}>
              {verb} {eligible.length.toLocaleString('en')}
            </button>
          </>
        )}
      </div>
      <progress max={eligible.length || 1} value={done + refused} aria-label="Progress" />
      <p role="status" class="dim">
        {done + refused > 0 &&
          `${done + refused} of ${eligible.length}${isOver && done + refused < eligible.length ? ', stopped' : ''}`}
        {refused > 0 && `, ${refused} refused: ${lastError}`}
      </p>
    </DialogFrame>
  )
}

function LeftOut({
  rows,
  whyNot,
}: {
  readonly rows: readonly PlacedRow[]
  readonly whyNot: (row: PlacedRow) => string | undefined
}): JSX.Element | null {
  const reasons = new Map<string, number>()
  for (const row of rows) {
    const reason = whyNot(row)
    if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  }
  if (reasons.size === 0) return null
  return (
    <ul class="advice">
      {[...reasons].map(([reason, number]) => (
        <li key={reason}>
          {number.toLocaleString('en')} left out: {reason}
        </li>
      ))}
    </ul>
  )
}

/** Makes the calls one after the other, at the wanted rate, until all are made or it is stopped. */
function useBulk(rows: readonly PlacedRow[], action: BulkAction, rate: number) {
  const [progress, setProgress] = useState(START)
  const isStopped = useRef(false)
  const isClosed = useRef(false)
  const pace = useRef(rate)
  pace.current = rate
  const start = async () => {
    isStopped.current = false
    let now: Progress = { ...START, isRunning: true }
    setProgress(now)
    for (const { id } of rows) {
      if (isStopped.current) break
      const next = performance.now() + 1_000 / pace.current
      try {
        await api(`POST ${toPath(id)}/${action}`)
        now = { ...now, done: now.done + 1 }
      } catch (error) {
        now = { ...now, refused: now.refused + 1, lastError: describeError(error) }
      }
      setProgress(now)
      const restMs = next - performance.now()
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
    }
    setProgress({ ...now, isRunning: false })
    if (isClosed.current) page.say(`stopped: ${now.done} of ${rows.length} done, ${now.refused} refused`)
  }
  const stop = () => {
    isStopped.current = true
  }
  const close = () => {
    isClosed.current = true
    stop()
  }
  useEffect(() => close, []) // closing the dialog ends it
  return { progress, start, stop }
}
