import type { JSX } from 'preact'
import { Detail } from '../detail/detail.tsx'
import { saveFile } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { bulkOf } from '../model/bulk.ts'
import { listShown, readFilterTime, release, type ShownList, select } from '../model/list.ts'
import type { PlacedRow } from '../model/rows.ts'
import { remember, store, useStore } from '../model/store.ts'
import { FailureGroups } from '../parts/failure-groups.tsx'
import { Button } from '../parts/fields.tsx'
import { FilterBar } from '../parts/filter-bar.tsx'
import { NothingShown } from '../parts/nothing-shown.tsx'
import { RowTable } from '../parts/row-table.tsx'
import { useTime } from '../parts/small.tsx'
import { count } from '../text/count.ts'
import { adviseOn } from '../text/explain.ts'

/** The first screen: all deliveries, and the open one. */
export function DeliveriesScreen(): JSX.Element {
  const { delivery, isGrouped } = useStore(readAddress)
  useTime(readFilterTime)
  const list = useStore(listShown)
  useStore(() => store.inbox.states)
  return (
    <div class={delivery === undefined ? 'split' : 'split open'}>
      <section class="list" aria-label="Deliveries">
        {delivery === undefined && <h1 class="unseen">Deliveries</h1>}
        <Toolbar list={list} />
        <FilterBar />
        <HintLine list={list} />
        {isGrouped ? (
          <FailureGroups />
        ) : list.rows.length > 0 ? (
          <RowTable rows={list.rows} />
        ) : (
          <NothingShown list={list} />
        )}
      </section>
      {delivery !== undefined && <Detail key={delivery} id={delivery} />}
    </div>
  )
}

/** One line between the filter and the list. It is always there, so that the list does not move. */
function HintLine({ list }: { readonly list: ShownList }): JSX.Element {
  const total = useStore(() => store.total)
  const isPartial = total > store.rows.size && store.rows.size > 0
  const known = count(list.total, 'delivery', 'deliveries')
  return (
    <div class="hint-line">
      <span>{list.rows.length === list.total ? known : `${list.rows.length.toLocaleString('en')} of ${known}`}</span>
      {isPartial && (
        <span title="Older deliveries open by their link, and are in “postern deliveries list”.">
          the newest of {total.toLocaleString('en')}
        </span>
      )}
      {list.fresh > 0 && <Button class="fresh" label={`${list.fresh} new`} hotkey="." onClick={release} />}
      {list.cleared > 0 && (
        <Button class="plain" label={`show ${list.cleared} cleared`} onClick={() => store.clear([])} />
      )}
      {list.unknown.length > 0 && <span class="problem">not understood: {list.unknown.join(' ')}</span>}
      <Trouble />
    </div>
  )
}

const findLatest = remember(
  () => [store.rows.version],
  () => {
    let newest: PlacedRow | undefined
    for (const row of store.rows.all)
      if (row.last !== null && !row.isGone && row.last.at >= (newest?.last?.at ?? '')) newest = row
    return newest
  },
)

/** Advice on the latest attempt, if it failed. */
function Trouble(): JSX.Element | null {
  const { last, webhook, signing, id, type } = useStore(findLatest) ?? {}
  const { delivery } = readAddress()
  if (delivery !== undefined || !last || last.isAcknowledged || webhook === undefined || signing !== 'valid')
    return null
  const advice = adviseOn(last, store.urlOf(webhook), store.state?.settings.deadlineMs)
  if (advice === undefined) return null
  const open = () => {
    select(id)
    go({ delivery: id })
  }
  return (
    <span class="trouble" title={advice}>
      <span aria-hidden="true">✕ </span>
      <Button class="plain" label={type ?? ''} onClick={open} /> {advice}
    </span>
  )
}

function Toolbar({ list }: { readonly list: ShownList }): JSX.Element {
  const { query } = readAddress()
  const bulk = (action: 'retry' | 'resend') => () =>
    store.set({ dialog: { kind: 'bulk', bulk: bulkOf(action, list.rows) } })
  const save = () => saveFile('deliveries.json', JSON.stringify(list.rows, null, 2))
  return (
    <div class="bar">
      <input
        id="filter"
        type="search"
        value={query}
        placeholder="Filter: text, status:failed, type:contact.*, code:401, since:10m"
        aria-label="Filter"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => go({ query: event.currentTarget.value }, false)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' && event.key !== 'Enter') return
          event.preventDefault() // Chromium would empty the field on Esc
          event.currentTarget.blur()
        }}
      />
      <Button class="main" label="Trigger" hotkey="t" onClick={() => store.set({ dialog: { kind: 'trigger' } })} />
      <details class="menu">
        <summary>Actions</summary>
        <div class="items">
          <Button label="Resend all shown…" onClick={bulk('resend')} />
          <Button label="Retry all failed shown…" onClick={bulk('retry')} />
          <Button label="Export as JSON" onClick={save} />
          <Button label="Clear the list" onClick={() => store.clear(store.rows.all.map(({ id }) => id))} />
        </div>
      </details>
    </div>
  )
}
