import { useEffect, useMemo } from 'preact/hooks'
import type { Row } from '../../emulator/contract.ts'
import { Detail } from '../detail/detail.tsx'
import { bulkOf, openBulk } from '../dialogs/bulk-dialog.tsx'
import { openTrigger } from '../dialogs/trigger-dialog.tsx'
import { whyNotTried } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { nameZones, readWord, writeWord } from '../model/filter.ts'
import { countAll, countMatching, listShown, release, type ShownList, search } from '../model/list.ts'
import { causeOf } from '../model/outcome.ts'
import { store } from '../model/store.ts'
import { FailureGroups } from '../parts/failure-groups.tsx'
import { Button, Switch } from '../parts/fields.tsx'
import { NothingShown } from '../parts/nothing-shown.tsx'
import { RowTable } from '../parts/row-table.tsx'
import { Ago } from '../parts/small.tsx'
import { count } from '../text/show.ts'

const SEARCH_EVERY_MS = 1_000
/** Time without a further letter after which the filter is searched for: a search reads all bodies. */
const TYPED_AFTER_MS = 300

export function ListScreen() {
  const { screen, query, open, isGrouped } = readAddress()
  const list = listShown()
  useEffect(() => {
    if (screen === 'inbox') return
    const look = () => void search().catch(() => {}) // the next one looks again
    const timers = [setTimeout(look, TYPED_AFTER_MS), setInterval(look, SEARCH_EVERY_MS)]
    return () => timers.forEach(clearTimeout)
  }, [screen, query])
  const name = screen === 'inbox' ? 'Inbox' : 'Deliveries'
  return (
    <div class={open === undefined ? 'split' : 'split open'}>
      <section class="list column" aria-label={name}>
        {open === undefined && <h1 class="unseen">{name}</h1>}
        <FilterBar isValid={list.unknown.length === 0} />
        <HintLine list={list} />
        {isGrouped && <FailureGroups />}
        {!isGrouped && list.rows.length > 0 && <RowTable key={name} name={name} rows={list.rows} />}
        {!isGrouped && list.rows.length === 0 && <NothingShown list={list} />}
      </section>
      {open !== undefined && <Detail key={open} id={open} />}
    </div>
  )
}

/** One line between the filter and the list. It is always there, so that the list does not move. */
function HintLine({ list }: { readonly list: ShownList }) {
  const { rows, total, fresh, unknown } = list
  const all = store.total
  const isInbox = readAddress().screen === 'inbox'
  const known = isInbox ? count(total, 'event', 'events') : count(total, 'delivery', 'deliveries')
  const isFailed = (row: Row) => causeOf(row) !== undefined && whyNotTried(row) === undefined
  const failed = useMemo(() => rows.filter(isFailed), [rows, store.state])
  const tryAll = `Try all ${failed.length.toLocaleString('en')} again…`
  return (
    <div class="hint-line line">
      <span>{rows.length === total ? known : `${rows.length.toLocaleString('en')} of ${known}`}</span>
      {isInbox && <InboxHints />}
      {!isInbox && all > store.rows.all.length && <span>the newest of {all.toLocaleString('en')}</span>}
      {fresh > 0 && <Button class="fresh" label={`${fresh.toLocaleString('en')} new`} hotkey="." onClick={release} />}
      {unknown.length > 0 && <span class="problem">ignored: {unknown.join(' ')}</span>}
      <span class="push" />
      {failed.length > 1 && unknown.length === 0 && (
        <Button class="plain" label={tryAll} hotkey="R" onClick={() => openBulk(bulkOf(failed))} />
      )}
    </div>
  )
}

function InboxHints() {
  const { counts, error, rows, isWhole = true } = store.inbox
  const oldest = rows?.findLast(({ inbox }) => inbox?.isOverdue)?.inbox
  return (
    <>
      {error !== undefined && rows !== undefined && <span class="problem">{error}</span>}
      {error === undefined && oldest && (
        <span>
          The oldest waiting event was due <Ago at={oldest.dueAt} isReal />. Is a worker running?
        </span>
      )}
      {!isWhole && <span>Only the oldest 10,000 of each state are read.</span>}
      {counts?.isWritable === false && <span>Read-only: start “npx postern inbox serve --write” to change it.</span>}
    </>
  )
}

const CHIPS = [
  ['', 'All'],
  ['failed', 'Failed', 'deliveries'],
  ['retrying', 'Retrying'],
  ['pending', 'Pending', 'inbox'],
  ['dead', 'Dead'],
] as const

function FilterBar({ isValid }: { readonly isValid: boolean }) {
  const { screen, query, isGrouped } = readAddress()
  const counts = countMatching()
  const status = readWord(query, 'status') ?? ''
  const show = (wanted: string) => go({ query: writeWord(query, 'status', wanted || undefined) })
  const options = CHIPS.flatMap(([name, word, only = screen]) =>
    only === screen ? [[name, name === '' ? word : `${word} ${counts[name].toLocaleString('en')}`] as const] : [],
  )
  const { failed, dead, retrying } = countAll()
  const tone = failed + dead + retrying > 0 ? undefined : 'main'
  return (
    <div class="bar">
      <Switch
        options={options}
        value={status}
        onInput={(wanted) => show(wanted === status ? '' : wanted)}
        hotkeys={{ failed: 'f' }}
      />
      <div class="line">
        <input
          id="filter"
          type="search"
          value={query}
          placeholder="Filter: text, type:, code:, account:, since:10m"
          aria-label="Filter"
          aria-invalid={!isValid}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => go({ query: event.currentTarget.value }, false)}
          onBlur={() => go({ query: nameZones(readAddress().query) }, false)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape' && event.key !== 'Enter') return
            event.preventDefault() // Chromium would empty the field on Esc
            event.currentTarget.blur()
          }}
        />
        <Button label="By cause" hotkey="g" aria-pressed={isGrouped} onClick={() => go({ isGrouped: !isGrouped })} />
        {screen === 'deliveries' && <Button class={tone} label="Trigger" hotkey="t" onClick={openTrigger} />}
      </div>
    </div>
  )
}
