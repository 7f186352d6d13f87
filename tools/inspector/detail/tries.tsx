import type { ComponentChildren, JSX } from 'preact'
import { showDuration } from '../../../src/host/duration.ts'
import type { InboxDetail } from '../../emulator/inspector/inbox-shapes.ts'
import { actOnItem, ask } from '../model/actions.ts'
import { drop, isInboxWritable, refreshInbox, replay } from '../model/inbox.ts'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Ago } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'

interface TriesOptions {
  readonly item: InboxDetail | undefined
  /** Further parts of the heading. */
  readonly children?: ComponentChildren
}

/** The tries of an accepted event, the newest first, each with its error. */
export function Tries({ item, children }: TriesOptions): JSX.Element {
  const tries = item?.tries ?? []
  return (
    <div class="section">
      <h2>Tries {children}</h2>
      {item?.tries.length === 0 && <p class="dim">No worker has tried it yet.</p>}
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

/** Buttons that try a dead letter again, and drop an event that is not running, if the page may write. */
export function ItemActions({ item: { key, state } }: { readonly item: InboxDetail }): JSX.Element | null {
  if (!isInboxWritable() || state === 'running') return null
  const tryOnce = (click: MouseEvent) => {
    if (click.detail <= 1) actOnItem(replay, key, 'tried again') // not by the second click of a double click
  }
  const dropIt = () =>
    ask({
      title: 'Drop the event?',
      text: 'It is deleted for good, unhandled.',
      verb: 'Drop',
      isDangerous: true,
      onYes: () =>
        drop(key)
          .finally(() => refreshInbox())
          .then(() => store.say('dropped')),
    })
  return (
    <div class="bar actions">
      {state === 'dead' && <Button class="main" label="Try again" hotkey="r" onClick={tryOnce} />}
      <Button class="danger" label="Drop…" onClick={dropIt} />
    </div>
  )
}
