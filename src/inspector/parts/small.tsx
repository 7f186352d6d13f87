import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useReducer, useRef } from 'preact/hooks'
import type { LastResult } from '../../emulator/contract.ts'
import { type Address, follow, go, readAddress, toPageUrl, toView } from '../model/address.ts'
import type { PlacedRow } from '../model/rows.ts'
import { store, useStore } from '../model/store.ts'
import { showAgo, showExact, showIn } from '../text/times.ts'

const listeners = new Set<() => void>()

setInterval(() => {
  if (!document.hidden) for (const listener of [...listeners]) listener()
}, 1_000)

/**
 * Computes something from the emulator's time, or the machine's for an inbox. It is computed again every second, and the component is
 * drawn again if it has changed.
 */
export function useTime<T extends string | number>(compute: (now: number) => T, isReal = false): T {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  const read = () => compute(isReal ? Date.now() : store.now())
  const value = read()
  const shown = useRef({ read, value })
  shown.current = { read, value }
  useEffect(() => {
    const listener = () => {
      if (shown.current.read() !== shown.current.value) draw(undefined)
    }
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return value
}

/** Draws a component again only if its properties have changed. */
export function memo<P extends object>(Inner: (properties: P) => JSX.Element): (properties: P) => JSX.Element {
  return (properties) => useMemo(() => <Inner {...properties} />, Object.values(properties))
}

interface TimeOptions {
  /** ISO 8601; null if it is unknown. */
  readonly at: string | null
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
  const ms = Date.parse(at ?? '')
  const text = useTime((now) => show(ms, now), isReal)
  return (
    <time dateTime={at ?? undefined} title={useStore(() => showExact(at, store.isUtc))}>
      {text}
    </time>
  )
}

/** An absolute time, in the zone that the user has chosen. */
export function At({ at }: { readonly at: string | null }): JSX.Element {
  return <>{useStore(() => showExact(at, store.isUtc))}</>
}

const STATES = {
  ok: ['✓', 'delivered'],
  failed: ['✕', 'failed'],
  retrying: ['↻', 'retry'],
  waiting: ['○', 'waiting'],
  sending: ['◌', 'sending'],
  held: ['‖', 'held'],
  gone: ['–', 'unknown'],
} as const

/** The state of a delivery as the page shows it. */
export function stateOf(row: PlacedRow, now: number): keyof typeof STATES {
  if (row.status === 'success') return 'ok'
  if (row.status === 'failed') return 'failed'
  if (row.isGone) return 'gone'
  if (store.webhook(row.webhook)?.active === false) return 'held'
  if (row.nextAt !== null && Date.parse(row.nextAt) <= now) return 'sending'
  return row.attempts === 0 ? 'waiting' : 'retrying'
}

/** The icon of a state. */
export function iconOf(state: keyof typeof STATES): string {
  return STATES[state][0]
}

interface StatusOptions {
  readonly state: keyof typeof STATES
  readonly word?: string
  readonly children?: ComponentChildren
}

/** A state as an icon and a word, never as a colour alone. */
export function Status({ state, word = STATES[state][1], children }: StatusOptions): JSX.Element {
  return (
    <span class={`status ${state}`}>
      <Icon sign={STATES[state][0]} />
      <span>
        {word}
        {children && ' '}
        {children}
      </span>
    </span>
  )
}

/** The icon of a state or of a result. */
export function Icon({ sign }: { readonly sign: string }): JSX.Element {
  return (
    <span class="icon" aria-hidden="true">
      {sign}
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

interface ViewLinkOptions {
  readonly view: Partial<Address>
  readonly isCurrent?: boolean
  readonly children: ComponentChildren
}

/** A link to a view of the page. What belongs to another screen is cleared. */
export function ViewLink({ view, isCurrent = false, children }: ViewLinkOptions): JSX.Element {
  const whole = toView(view)
  return (
    <a
      href={useStore(() => toPageUrl({ ...readAddress(), ...whole }))}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={(event) => follow(event, () => go(whole))}
    >
      {children}
    </a>
  )
}

type Columns = readonly (readonly [name: string, classes?: string])[]

/** The head of a table. */
export function Head({ columns }: { readonly columns: Columns }): JSX.Element {
  return (
    <thead>
      <tr>
        {columns.map(([name, classes]) => (
          <th key={name} scope="col" class={classes}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

interface FlatTableOptions {
  readonly name: string
  readonly columns: Columns
  readonly children: ComponentChildren
}

/** A table in a page of other things. */
export function FlatTable({ name, columns, children }: FlatTableOptions): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by the keyboard
    <section class="scroll flat" tabIndex={0} aria-label={name}>
      <table>
        <Head columns={columns} />
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}

interface EmptyOptions {
  readonly title: string
  readonly text?: string
  readonly children?: ComponentChildren
}

/** An empty view: a title, and the next step. */
export function Empty({ title, text, children }: EmptyOptions): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children}
    </div>
  )
}

/** The problem with a text or a call; nothing if there is none. */
export function Problem({ text }: { readonly text: string | undefined }): JSX.Element | null {
  if (text === undefined) return null
  return (
    <p class="problem">
      <Icon sign="✕" /> {text}
    </p>
  )
}
