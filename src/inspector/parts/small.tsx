import type { ComponentChildren, JSX } from 'preact'
import { toIso } from '../../protocol/iso-time.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import type { LastResult } from '../shapes.ts'
import { showAgo, showExact, showIn } from '../text/times.ts'
import { useNow } from './ticker.ts'

interface TimeOptions {
  /** ISO 8601, or milliseconds since 1970 for the times of an inbox. */
  readonly at: string | number
  /** True to measure by the machine's clock instead of the emulator's. */
  readonly isReal?: boolean
}

/** A time in the past, relative to now. Its tooltip shows the exact time. */
export function Ago(options: TimeOptions): JSX.Element {
  return <Time {...options} show={showAgo} />
}

/** A countdown. Its tooltip shows the exact time. */
export function In(options: TimeOptions): JSX.Element {
  return <Time {...options} show={showIn} />
}

function Time({ at, isReal, show }: TimeOptions & { readonly show: typeof showIn }): JSX.Element {
  const ms = new Date(at).getTime()
  return (
    <time dateTime={toIso(ms)} title={showExact(ms)}>
      {show(ms, useNow(isReal))}
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

/** The state of a delivery as the page shows it. */
export function stateOf({ status, isGone, nextAt, attempts, webhook }: PlacedRow, now: number): State {
  if (status === 'success') return 'ok'
  if (status === 'failed') return 'failed'
  if (isGone) return 'gone'
  if (page.webhook(webhook)?.active === false) return 'held'
  if (nextAt !== null && Date.parse(nextAt) <= now) return 'sending'
  return attempts === 0 ? 'waiting' : 'retrying'
}

/** The state of a delivery as an icon and a word, never as a colour alone. */
export function StatusMark({ row }: { readonly row: PlacedRow }): JSX.Element {
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

/** An empty view: a title, and the next step. */
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

/** A key of the keyboard. */
export function Key({ name }: { readonly name: string }): JSX.Element {
  return (
    <span class="kbd" aria-hidden="true">
      {name}
    </span>
  )
}
