import type { JSX } from 'preact'
import { showDuration } from '../../../src/host/duration.ts'
import type { InboxDetail } from '../../emulator/inspector/inbox-shapes.ts'
import { actOnItem } from '../model/actions.ts'
import { drop, isInboxWritable, replay } from '../model/inbox.ts'
import { Button, Confirm } from '../parts/fields.tsx'
import { Ago } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'

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
                <Ago at={startedAt} isReal /> · took{' '}
                {showDuration(Date.parse(endedAt ?? '') - Date.parse(startedAt ?? ''))} · {worker}
              </span>
            </p>
            {error !== undefined && <pre>{escapeHidden(error)}</pre>}
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Buttons that replay a dead letter, and drop an event that is not running, if the page may write. */
export function ItemActions({ item: { key, state } }: { readonly item: InboxDetail }): JSX.Element | null {
  if (!isInboxWritable() || state === 'running') return null
  const replayOnce = (click: MouseEvent) => {
    if (click.detail <= 1) actOnItem(replay, key, 'replayed') // not by the second click of a double click
  }
  return (
    <div class="bar actions">
      {state === 'dead' && <Button class="main" label="Replay" hotkey="r" onClick={replayOnce} />}
      <Confirm
        label="Drop…"
        question="Drop this event for good, unhandled?"
        verb="Drop"
        onYes={() => actOnItem(drop, key, 'dropped')}
      />
    </div>
  )
}
