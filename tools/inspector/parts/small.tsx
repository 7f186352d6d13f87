import type { ComponentChildren, JSX } from 'preact'
import type { LastResult, Row } from '../../emulator/contract.ts'
import { type Address, follow, go, readAddress, toPageUrl, toView } from '../model/address.ts'
import { OUTCOMES, outcomeOf } from '../model/outcome.ts'
import { store } from '../model/store.ts'
import { showAgo, showExact, showIn } from '../text/times.ts'

interface TimeOptions {
  /** ISO 8601; null if it is unknown. */
  readonly at: string | null
  /** True to measure by the machine's clock instead of the emulator's. */
  readonly isReal?: boolean
}

/** A time in the past, relative to now. Its tooltip shows the exact time. */
export const Ago = (options: TimeOptions): JSX.Element => <Time {...options} show={showAgo} />
/** A countdown. Its tooltip shows the exact time. */
export const In = (options: TimeOptions): JSX.Element => <Time {...options} show={showIn} />

function Time({ at, isReal, show }: TimeOptions & { readonly show: typeof showIn }): JSX.Element {
  return (
    <time dateTime={at ?? undefined} title={`${showExact(at)}\n${at}`}>
      {show(Date.parse(at ?? ''), isReal ? Date.now() : store.now())}
    </time>
  )
}

/** The outcome of the event of a delivery, as an icon and words, never as a colour alone, with a countdown to the next try. */
export function OutcomeView({ row }: { readonly row: Row }): JSX.Element {
  const outcome = outcomeOf(row)
  const [icon, word, status] = OUTCOMES[outcome]
  const { inbox, nextAt } = row
  return (
    <span class={`outcome ${icon === '–' ? 'nothing' : status}`}>
      <Icon sign={icon} /> <span class="word">{word}</span>{' '}
      {outcome === 'retrying' && inbox !== null && <In at={inbox.dueAt} isReal />}
      {/^(retrying|waiting)$/.test(outcome) && inbox === null && <In at={nextAt} />}
    </span>
  )
}

/** The icon of an outcome. */
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
      href={toPageUrl({ ...readAddress(), ...whole })}
      aria-current={isCurrent ? 'page' : undefined}
      onClick={(event) => follow(event, () => go(whole))}
    >
      {children}
    </a>
  )
}

type Columns = readonly (readonly [name: string, classes?: string | undefined])[]

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

interface TableRow {
  readonly key: string | number
  readonly cells: readonly ComponentChildren[]
}

interface TableOptions {
  readonly name: string
  readonly columns: Columns
  readonly rows: readonly TableRow[]
}

/** A table of a page, as wide as the page. The classes of a column are those of its cells. */
export function Table({ name, columns, rows }: TableOptions): JSX.Element {
  return (
    <table class="flat" aria-label={name}>
      <Head columns={columns} />
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {cells.map((cell, index) => (
              <td key={index} class={columns[index]?.[1]}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface EmptyOptions {
  readonly title: string
  readonly text?: string | undefined
  readonly children?: ComponentChildren
}

/** An empty view: a title, and the next step. */
export function Empty({ title, text, children }: EmptyOptions): JSX.Element {
  return (
    <div class="empty column">
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children}
    </div>
  )
}

/** Names with their values. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: ComponentChildren, value: ComponentChildren])[]
}) {
  return (
    <dl class="facts">
      {facts.map(([name, value], index) => (
        <div key={index}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
