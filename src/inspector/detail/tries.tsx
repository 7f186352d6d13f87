import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { actOnItem } from '../model/actions.ts'
import { drop, inbox, replay } from '../model/inbox.ts'
import { Button } from '../parts/fields.tsx'
import { Ago } from '../parts/small.tsx'
import type { InboxDetail } from '../shapes.ts'
import { showLength } from '../text/times.ts'

/** The tries of an accepted event, the newest first, each with its error. */
export function Tries({ item: { tries } }: { readonly item: InboxDetail }): JSX.Element {
  return (
    <div class="section">
      <h2>Tries</h2>
      {tries.length === 0 && <p class="dim">No worker has tried it yet.</p>}
      <ol class="tries">
        {tries.toReversed().map(({ n, startedAt, endedAt, code, error, worker }) => (
          <li key={n}>
            <p>
              <span class="dim">{n}.</span> <b class="result bad">{code}</b>{' '}
              <span class="dim">
                <Ago at={startedAt} isReal /> · took {showLength(endedAt - startedAt)} ·{' '}
                <span class="mono">{worker}</span>
              </span>
            </p>
            {error !== undefined && <pre>{error}</pre>}
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Buttons that replay a dead letter, and drop an event that is not running, if the page may write. */
export function ItemActions({ item: { key, state } }: { readonly item: InboxDetail }): JSX.Element | null {
  const [isAsked, setAsked] = useState(false)
  const bar = useRef<HTMLDivElement>(null)
  const isPressed = useRef(false)
  useEffect(() => {
    // The pressed button is gone, and the focus with it.
    if (isPressed.current && document.activeElement === document.body)
      bar.current?.querySelector<HTMLElement>('.safe')?.focus()
  }, [isAsked])
  if (!inbox.isWritable || state === 'running') return null
  const ask = (isWanted: boolean) => () => {
    isPressed.current = true
    setAsked(isWanted)
  }
  const run = (work: (key: string) => Promise<void>, done: string) => async (click: MouseEvent) => {
    if (click.detail > 1) return // the second click of a double click
    await actOnItem(work, key, done)
    setAsked(false)
  }
  return (
    <div class="bar actions" ref={bar}>
      {state === 'dead' && <Button class="main" label="Replay" hotkey="r" onClick={run(replay, 'replayed')} />}
      {isAsked ? (
        <>
          <span>Drop this event for good, unhandled?</span>
          <Button class="danger" label="Drop" onClick={run(drop, 'dropped')} />
          <Button class="safe" label="Keep" onClick={ask(false)} />
        </>
      ) : (
        <Button class="plain safe" label="Drop…" onClick={ask(true)} />
      )}
    </div>
  )
}
