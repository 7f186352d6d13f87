import type { ComponentChildren } from 'preact'
import type { LastResult, Row } from '../../emulator/contract.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { type Address, follow, go, readAddress, toPageUrl, toView } from '../model/address.ts'
import { outcomeOf } from '../model/outcome.ts'
import { OUTCOMES } from '../model/outcome-words.ts'
import { store } from '../model/store.ts'
import { showAgo, showExact, showIn } from '../text/show.ts'

interface TimeOptions {
  readonly at: string | null
  /** True to measure by the machine's clock instead of the emulator's. */
  readonly isReal?: boolean
}

export const Ago = (options: TimeOptions) => <Time {...options} show={showAgo} />
export const In = (options: TimeOptions) => <Time {...options} show={showIn} />

function Time({ at, isReal, show }: TimeOptions & { readonly show: typeof showIn }) {
  return (
    <time dateTime={at ?? undefined} title={`${showExact(at)}\n${at}`}>
      {show(Date.parse(at ?? ''), isReal ? Date.now() : store.now())}
    </time>
  )
}

/** The outcome of the event of a delivery, as an icon and words, never as a colour alone, with a countdown to the next try. */
export function OutcomeView({ row }: { readonly row: Row }) {
  const outcome = outcomeOf(row)
  const [icon, word, status] = OUTCOMES[outcome]
  const { inbox, nextAt } = row
  return (
    <span class={`outcome ${icon === '–' ? 'nothing' : status}`}>
      <Icon sign={icon} /> <span class="word">{word}</span>{' '}
      {outcome === 'retrying' && inbox !== null && <In at={inbox.dueAt} isReal />}
      {/^(retrying|waiting|copied)$/.test(outcome) && inbox === null && <In at={nextAt} />}
    </span>
  )
}

export function Icon({ sign }: { readonly sign: string }) {
  return (
    <span class="icon" aria-hidden="true">
      {sign}
    </span>
  )
}

export function Result({ last }: { readonly last: LastResult | null }) {
  if (last === null) return <span class="dim">–</span>
  return (
    <span class={last.isAcknowledged ? 'result' : 'result bad'}>
      <b>{last.result}</b>
      {last.code !== null && ` ${last.code}`}
    </span>
  )
}

/** Names a webhook by its description, or by its URL without this machine's name. */
export function nameWebhook(id: string): string {
  const { description, url = 'deleted' } = store.webhook(id) ?? {}
  return escapeHidden(description || url.replace(/^https?:\/\/(localhost|127\.0\.0\.1)?/, ''))
}

/** A URL that wraps between its parts. */
export function Url({ url }: { readonly url: string }) {
  return <>{url.split(/(?<=\w\/)/).flatMap((part, index) => [part, <wbr key={index} />])}</>
}

interface ViewLinkOptions {
  readonly view: Partial<Address>
  readonly isCurrent?: boolean
  readonly children: ComponentChildren
}

/** A link to a view of the page. What belongs to another screen is cleared. */
export function ViewLink({ view, isCurrent = false, children }: ViewLinkOptions) {
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

type Columns = readonly (readonly [name: string, classes?: string | undefined, width?: string | undefined])[]

export function Head({ columns }: { readonly columns: Columns }) {
  return (
    <thead>
      <tr>
        {columns.map(([name, classes, width = '']) => (
          <th key={name} scope="col" class={classes} style={{ width }}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  )
}

interface TableOptions {
  readonly name: string
  readonly columns: Columns
  readonly rows: readonly {
    readonly key: string | number
    readonly isCurrent?: boolean
    readonly cells: readonly ComponentChildren[]
  }[]
}

/** A table of a page, as wide as the page. The classes of a column are those of its cells. */
export function Table({ name, columns, rows }: TableOptions) {
  return (
    <table class="flat" aria-label={name}>
      <Head columns={columns} />
      <tbody>
        {rows.map(({ key, isCurrent = false, cells }) => (
          <tr key={key} aria-current={isCurrent || undefined}>
            {cells.map((cell, index) => (
              <td key={index} class={columns[index]?.[1]} data-name={columns[index]?.[0]}>
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

export function Empty({ title, text, children }: EmptyOptions) {
  return (
    <div class="empty column">
      <h2>{title}</h2>
      {text !== undefined && <p>{text}</p>}
      {children}
    </div>
  )
}

type Pair = readonly [name: ComponentChildren, value: ComponentChildren]

export function Facts({ facts }: { readonly facts: readonly Pair[] }) {
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
