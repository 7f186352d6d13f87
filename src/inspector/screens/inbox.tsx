import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { InboxRow, InboxStateName } from '../../emulator/inspector/inbox-shapes.ts'
import { ItemDetail } from '../detail/item-detail.tsx'
import { follow, go, readAddress, toPageUrl } from '../model/address.ts'
import { replaysOf } from '../model/bulk.ts'
import { hasInbox, isInboxWritable, readListed, refreshInbox } from '../model/inbox.ts'
import { store, useStore } from '../model/store.ts'
import { ChoiceButtons, Tick, type Ticks, useChoice } from '../parts/choice.tsx'
import { Button, Switch } from '../parts/fields.tsx'
import { Ago, Empty, Head, In } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'
import { shortenError } from '../text/explain.ts'

const HANDLED =
  'An accepted event waits until a worker takes it, and leaves the inbox when its handlers have succeeded.'

/** Words of each state: its name, the head of the times, and the title and the text of an empty list. */
const WORDS: Readonly<Record<InboxStateName, readonly [name: string, time: string, none: string, text: string]>> = {
  dead: [
    'Dead',
    'Dead since',
    'No dead letters',
    'An event appears here when its handlers have failed for the last time. You can replay it by hand.',
  ],
  waiting: ['Waiting', 'Next try', 'No events are waiting', HANDLED],
  running: ['Running', 'Was due', 'No events are running', HANDLED],
}

/** Accepted events whose handlers have not succeeded: waiting, running or dead. */
export function InboxScreen(): JSX.Element {
  const { item, state, after } = useStore(readAddress)
  const isThere = useStore(hasInbox)
  useStore(() => store.inbox)
  useStore(() => store.state)
  const choice = useChoice()
  useEffect(() => {
    if (isThere) refreshInbox()
  }, [state, after, isThere])
  if (!isThere) return <NoInbox />
  const rows = readListed()?.rows ?? []
  return (
    <div class={item === undefined ? 'split' : 'split open'}>
      <section class="list" aria-label="Inbox">
        {item === undefined && <h1 class="unseen">Inbox</h1>}
        <div class="bar">
          <StateSwitch />
          <span class="push" />
          {state === 'dead' && isInboxWritable() && rows.length > 0 && (
            <ChoiceButtons
              verb="Replay"
              rows={rows}
              keyOf={({ key }) => key}
              choice={choice}
              onRun={(selected) => store.set({ dialog: { kind: 'bulk', bulk: replaysOf(selected) } })}
            />
          )}
        </div>
        <Hint />
        {rows.length > 0 ? <Table rows={rows} choice={choice} /> : <NoRows />}
        <Pager />
      </section>
      {item !== undefined && <ItemDetail key={item} itemKey={item} />}
    </div>
  )
}

function StateSwitch(): JSX.Element {
  const { counts } = store.inbox
  const nameOf = (state: InboxStateName) => {
    const number = counts?.[state] ?? 0
    const shown = `${number.toLocaleString('en')}${number >= (counts?.countedTo ?? 0) ? '+' : ''}`
    return [state, `${WORDS[state][0]} ${counts === undefined ? '' : shown}`] as const
  }
  return (
    <Switch
      options={(['dead', 'waiting', 'running'] as const).map(nameOf)}
      value={readAddress().state}
      onInput={(state) => go({ state, after: undefined, item: undefined })}
    />
  )
}

function Hint(): JSX.Element {
  const { counts, error } = store.inbox
  return (
    <div class="hint-line">
      {error !== undefined && counts !== undefined && <span class="problem">{error}</span>}
      {error === undefined && counts !== undefined && counts.oldestDueAt !== null && (
        <span>
          The oldest waiting event was due <Ago at={counts.oldestDueAt} isReal />. Is a worker running?
        </span>
      )}
      {counts !== undefined && !counts.isWritable && (
        <span>Read-only: to replay and drop, start “postern inbox serve --write”.</span>
      )}
    </div>
  )
}

function Table({ rows, choice }: { readonly rows: readonly InboxRow[]; readonly choice: Ticks }): JSX.Element {
  const { state } = readAddress()
  const isChoosable = state === 'dead' && isInboxWritable()
  const columns = [
    ['Type'],
    ['Event', 'wide'],
    ['Account', 'widest'],
    ['Last try'],
    [WORDS[state][1], 'number'],
  ] as const
  return (
    <div class="scroll">
      <table class="rows items">
        <Head columns={columns} />
        <tbody>
          {rows.map((row) => (
            <Line key={row.key} row={row} choice={isChoosable ? choice : undefined} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Line({ row, choice }: { readonly row: InboxRow; readonly choice: Ticks | undefined }): JSX.Element {
  const address = readAddress()
  const { key, type, event, account, last } = row
  const open = (click: MouseEvent) => follow(click, () => go({ item: key }))
  return (
    <tr class="row" aria-current={key === address.item || undefined} onClick={open}>
      <td class="type">
        {choice !== undefined && <Tick choice={choice} id={key} name={`${type} ${event}`} />}
        <a class="item" href={toPageUrl({ ...address, item: key })} data-key={key}>
          {escapeHidden(type)}
        </a>
        <span class="second mono">{escapeHidden(event)}</span>
      </td>
      <td class="wide mono dim">{escapeHidden(event)}</td>
      <td class="widest dim">{escapeHidden(account)}</td>
      <td>
        {last === null ? (
          <span class="dim">not started</span>
        ) : (
          <span class="result bad" title={escapeHidden(last.error ?? '')}>
            <b>{last.code}</b> <span class="error dim">{escapeHidden(shortenError(last.error))}</span>
          </span>
        )}
      </td>
      <td class="number dim">
        {row.state === 'waiting' ? <In at={row.dueAt} isReal /> : <Ago at={row.dueAt} isReal />}
      </td>
    </tr>
  )
}

/** Shown if the emulator was restarted without an inbox. */
function NoInbox(): JSX.Element {
  if (store.state === undefined) return <Empty title="Loading" />
  return (
    <Empty title="The emulator has no inbox">
      <p>
        Start it with <code>--inbox sqlite:FILE</code>, <code>redis://HOST</code> or{' '}
        <code>postgres://HOST/DATABASE</code>.
      </p>
    </Empty>
  )
}

function NoRows(): JSX.Element {
  const { state, after } = readAddress()
  const { counts, error } = store.inbox
  if (readListed() === undefined || counts === undefined) {
    if (error === undefined) return <Empty title="Loading" />
    return <Empty title="The inbox cannot be read" text={`${error}. The page tries again every two seconds.`} />
  }
  if (after !== undefined) return <Empty title="No more events" />
  const [, , none, text] = WORDS[state]
  return <Empty title={none} text={text} />
}

function Pager(): JSX.Element | null {
  const { after } = readAddress()
  const next = readListed()?.next ?? null
  if (after === undefined && next === null) return null
  const show = (place: string | undefined) => () => go({ after: place, item: undefined })
  return (
    <div class="bar">
      <Button label="First page" disabled={after === undefined} onClick={show(undefined)} />
      <Button label="Next page" disabled={next === null} onClick={show(next ?? undefined)} />
    </div>
  )
}
