import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { InboxCountsShape, InboxRowPage, InboxStateName } from '../../emulator/inspector/inbox-shapes.ts'
import { ItemDetail } from '../detail/item-detail.tsx'
import { act } from '../model/actions.ts'
import { follow, go, INBOX_STATES, readAddress, toPageUrl } from '../model/address.ts'
import { replaysOf } from '../model/bulk.ts'
import { readWord, writeWord } from '../model/filter.ts'
import { hasInbox, isInboxWritable, listMatching, readListed, refreshInbox } from '../model/inbox.ts'
import { store, useStore } from '../model/store.ts'
import { Button, Switch } from '../parts/fields.tsx'
import { Ago, Empty, In, Table, ViewLink } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'

const WAITING =
  'An accepted event waits until a worker takes it, and leaves the inbox when its handlers have succeeded.'
const DEAD = 'An event appears here when its handlers have failed for the last time. You can try it again by hand.'

/** Words of each state: its name, the head of the times, and the title and the text of an empty list. */
const WORDS: Readonly<Record<InboxStateName, readonly [name: string, time: string, none: string, text: string]>> = {
  dead: ['Dead', 'Dead since', 'No dead letters', DEAD],
  waiting: ['Waiting', 'Next try', 'No events are waiting', WAITING],
  running: ['Running', 'Was due', 'No events are running', WAITING],
}

/** Keys of the filter that the inbox has. */
const KEYS = ['type', 'account', 'cause'] as const

function isFiltered(): boolean {
  return KEYS.some((key) => readWord(readAddress().query, key) !== undefined)
}

/** Shows the first page of another list. */
function show(change: Parameters<typeof go>[0]): void {
  go({ after: undefined, item: undefined, ...change })
}

/** Accepted events whose handlers have not succeeded: waiting, running or dead. */
export function InboxScreen(): JSX.Element {
  const { item, state, after, query, isGrouped } = useStore(readAddress)
  const isThere = useStore(hasInbox)
  const { counts, error } = useStore(() => store.inbox)
  useEffect(() => {
    if (isThere) refreshInbox()
  }, [state, after, query, isThere])
  const listed = readListed()
  const page = listed ?? store.inbox.listed?.page // while another is loaded, its filters stay
  if (!isThere || page === undefined || counts === undefined) return <NoInbox isThere={isThere} error={error} />
  const [, , none, text] = WORDS[state]
  const next = { after: page.next ?? undefined }
  return (
    <div class={item === undefined ? 'split' : 'split open'}>
      <section class="list" aria-label="Inbox">
        {item === undefined && <h1 class="unseen">Inbox</h1>}
        <Filters page={page} counts={counts} />
        <p class="hint-line">
          {error !== undefined && <span class="problem">{error}</span>}
          {!isGrouped && (
            <span>{`${page.rows.length}${after ? ' more' : ''} of ${page.matched.toLocaleString('en')}`}</span>
          )}
          {error === undefined && counts.oldestDueAt !== null && (
            <span>
              The oldest waiting event was due <Ago at={counts.oldestDueAt} isReal />. Is a worker running?
            </span>
          )}
          {!page.isWhole && <span>Only the oldest 10,000 are read.</span>}
          {!counts.isWritable && (
            <span>Read-only: to try again and drop, start “npx postern inbox serve --write”.</span>
          )}
        </p>
        {listed === undefined ? (
          <Empty title="Loading" />
        ) : page.matched > 0 ? (
          <div class="scroll">{isGrouped ? <Causes page={page} /> : <Events page={page} />}</div>
        ) : isFiltered() ? (
          <Empty title="No event matches this filter">
            <Button label="Clear the filter" onClick={() => show({ query: '' })} />
          </Empty>
        ) : (
          <Empty title={none} text={text} />
        )}
        {!isGrouped && (after !== undefined || page.next !== null) && (
          <div class="bar">
            <Button label="First page" disabled={after === undefined} onClick={() => show({})} />
            <Button label="Next page" disabled={page.next === null} onClick={() => show(next)} />
          </div>
        )}
      </section>
      {item !== undefined && <ItemDetail key={item} itemKey={item} />}
    </div>
  )
}

interface PageOptions {
  readonly page: InboxRowPage
}

interface FilterOptions extends PageOptions {
  readonly counts: InboxCountsShape
}

/** The states with their numbers, the filters, and the button that replays what they show. */
function Filters({ page: { matched, types, accounts, causes }, counts }: FilterOptions): JSX.Element {
  const { state, isGrouped } = readAddress()
  const values = { type: types, account: accounts, cause: causes.map(({ cause }) => cause) }
  const states = INBOX_STATES.map((each) => {
    const isMore = counts[each] >= counts.countedTo
    return [each, `${WORDS[each][0]} ${counts[each].toLocaleString('en')}${isMore ? '+' : ''}`] as const
  })
  const group = () => show({ isGrouped: !isGrouped })
  return (
    <div class="bar filters">
      <Switch options={states} value={state} onInput={(chosen) => show({ state: chosen })} />
      <Button label="By cause" hotkey="g" aria-pressed={isGrouped} onClick={group} />
      <WordSelects values={values} onChoose={(query) => show({ query, isGrouped: false })} />
      {state === 'dead' && counts.isWritable && matched > 0 && (
        <Button
          class="main"
          label={`Try all ${matched.toLocaleString('en')}${isFiltered() ? ' that match' : ''} again`}
          hotkey="R"
          onClick={() => replayMatching()}
        />
      )}
    </div>
  )
}

interface WordSelectsOptions {
  /** The known values of each key. */
  readonly values: Readonly<Record<string, readonly string[]>>
  /** Called with the filter that has the chosen value, or no longer the key. */
  readonly onChoose: (query: string) => void
}

/** A choice of one value for each key of the filter. */
function WordSelects({ values, onChoose }: WordSelectsOptions): JSX.Element {
  const { query } = readAddress()
  return (
    <>
      {Object.entries(values).map(([key, all]) => {
        const value = readWord(query, key) ?? ''
        const known = [...new Set([...all, value])].filter(Boolean)
        const choose = (chosen: string) => onChoose(writeWord(query, key, chosen || undefined))
        return known.length < 2 && value === '' ? null : (
          <select
            key={key}
            aria-label={`Filter by ${key}`}
            value={value}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            <option value="">any {key}</option>
            {known.map((each) => (
              <option key={each} value={each}>
                {escapeHidden(each)}
              </option>
            ))}
          </select>
        )
      })}
    </>
  )
}

/** Says why there is no list. */
function NoInbox({ isThere, error }: { readonly isThere: boolean; readonly error: string | undefined }): JSX.Element {
  if (error !== undefined && isThere)
    return <Empty title="The inbox cannot be read" text={`${error}. The page tries again every two seconds.`} />
  if (isThere || store.state === undefined) return <Empty title="Loading" />
  return (
    <Empty
      title="The emulator has no inbox"
      text="Start it with --inbox sqlite:FILE, redis://HOST or postgres://HOST/DATABASE."
    />
  )
}

/** Opens the dialog that replays all dead letters that match the filter, and have the cause if one is given. */
function replayMatching(cause?: string): void {
  act(async () => store.set({ dialog: { kind: 'bulk', bulk: replaysOf(await listMatching(cause)) } }))
}

/** A countdown to a planned try, or the time since. */
function When({ at }: { readonly at: string | null }): JSX.Element {
  const Shown = readAddress().state === 'waiting' ? In : Ago
  return <Shown at={at} isReal />
}

/** The events by cause of their last failure. */
function Causes({ page: { causes } }: PageOptions): JSX.Element {
  const { state, query } = readAddress()
  const canReplay = state === 'dead' && isInboxWritable()
  const rows = causes.map(({ cause, count, first, last }) => ({
    key: cause,
    cells: [
      <ViewLink view={{ state, query: writeWord(query, 'cause', cause), isGrouped: false }}>
        {escapeHidden(cause)}
      </ViewLink>,
      canReplay ? <Button label={`Try again ${count}`} onClick={() => replayMatching(cause)} /> : count,
      <When at={first} />,
      <When at={last} />,
    ],
  }))
  const columns = [['Cause'], ['Events', 'number'], ['First', 'number dim wide'], ['Last', 'number dim']] as const
  return <Table name="Causes" columns={columns} rows={rows} />
}

function Events({ page }: PageOptions): JSX.Element {
  const address = readAddress()
  useEffect(() => {
    document.querySelector('.row[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [address.item])
  const rows = page.rows.map(({ key, type, event, account, last, dueAt }) => ({
    key,
    class: 'row',
    'aria-current': key === address.item || undefined,
    onClick: (click: MouseEvent) => follow(click, () => go({ item: key })),
    cells: [
      <>
        <a class="item" href={toPageUrl({ ...address, item: key })} data-key={key}>
          {escapeHidden(type)}
        </a>
        <small>{escapeHidden(`${account} · ${event}`)}</small>
      </>,
      <>
        <span class={last ? 'result bad' : ''} title={escapeHidden(last?.error ?? '')}>
          {escapeHidden(last?.error?.split('\n', 1)[0] ?? last?.code ?? 'not started')}
        </span>
        <small>{last?.error && last.code}</small>
      </>,
      <When at={dueAt} />,
    ],
  }))
  const columns = [['Event'], ['Last try'], [WORDS[address.state][1], 'number dim']] as const
  return <Table name="Events" class="rows events" columns={columns} rows={rows} />
}
