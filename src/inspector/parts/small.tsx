import type { ComponentChildren, JSX } from 'preact'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import type { LastResult } from '../shapes.ts'
import { showAgo, showExact, showIn } from '../text/times.ts'
import { useNow } from './ticker.ts'

interface TimeOptions {
  readonly at: number
  /** By the machine's clock, whatever that of the emulator says. */
  readonly isReal?: boolean
}

/** How long ago, with the exact time for whoever points at it. */
export function Ago({ at, isReal }: TimeOptions): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={showExact(at)}>
      {showAgo(at, useNow(isReal))}
    </time>
  )
}

/** A countdown. */
export function In({ at, isReal }: TimeOptions): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={showExact(at)}>
      {showIn(at, useNow(isReal))}
    </time>
  )
}

type State = 'ok' | 'failed' | 'retrying' | 'waiting' | 'sending' | 'held' | 'gone'

const ICONS: Readonly<Record<State, string>> = {
  ok: '✓',
  failed: '✕',
  retrying: '↻',
  waiting: '○',
  sending: '◌',
  held: '‖',
  gone: '–',
}

/** The state of a delivery as people see it. */
export function stateOf({ status, isGone, nextAt, attempts, webhook }: PlacedRow, now: number): State {
  if (status === 'success') return 'ok'
  if (status === 'failed') return 'failed'
  if (isGone) return 'gone'
  if (page.webhook(webhook)?.active === false) return 'held'
  if (nextAt !== null && nextAt <= now) return 'sending'
  return attempts === 0 ? 'waiting' : 'retrying'
}

/** A sign and a word, never a colour alone. */
export function Status({ row }: { readonly row: PlacedRow }): JSX.Element {
  const state = stateOf(row, useNow())
  return (
    <span class={`status ${state}`}>
      <span class="icon" aria-hidden="true">
        {ICONS[state]}
      </span>
      <span>
        {state === 'ok' ? 'delivered' : state === 'gone' ? 'unknown' : state === 'retrying' ? 'retry' : state}
        {(state === 'retrying' || state === 'waiting') && row.nextAt !== null && (
          <>
            {' '}
            <In at={row.nextAt} />
          </>
        )}
      </span>
    </span>
  )
}

/** The status or the failure, and the code word: `401 unauthorized`, `refused`. */
export function Result({ last }: { readonly last: LastResult | null }): JSX.Element {
  if (last === null) return <span class="dim">–</span>
  return (
    <span class={last.isAcknowledged ? 'result' : 'result bad'}>
      <b>{last.result}</b>
      {last.code !== null && ` ${last.code}`}
    </span>
  )
}

/** What to do where there is nothing to see. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}): JSX.Element {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  )
}

/** A key as it is on a keyboard. */
export function Key({ name }: { readonly name: string }): JSX.Element {
  return (
    <span class="kbd" aria-hidden="true">
      {name}
    </span>
  )
}
