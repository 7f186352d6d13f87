import type { JSX } from 'preact'
import { Detail } from '../detail/detail.tsx'
import { saveFile } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { bulkOf } from '../model/bulk.ts'
import { listShown, type ShownList } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { ui } from '../model/ui.ts'
import { Button } from '../parts/fields.tsx'
import { NothingShown } from '../parts/nothing-shown.tsx'
import { RowTable } from '../parts/row-table.tsx'

import { count } from '../text/count.ts'
import { adviseOn } from '../text/explain.ts'

/** The first screen: all deliveries, and the open one. */
export function DeliveriesScreen(): JSX.Element {
  const { delivery } = readAddress()
  const list = listShown()
  return (
    <div class={delivery === undefined ? 'split' : 'split open'}>
      <section class="list" aria-label="Deliveries">
        {delivery === undefined && <h1 class="unseen">Deliveries</h1>}
        <Toolbar list={list} />
        <div class="hint-line">
          <span>
            {list.rows.length === list.total
              ? count(list.total, 'delivery', 'deliveries')
              : `${list.rows.length.toLocaleString('en')} of ${count(list.total, 'delivery', 'deliveries')}`}
          </span>
          {list.fresh > 0 && (
            <Button class="fresh" label={`${list.fresh} new`} hotkey="." onClick={() => ui.release()} />
          )}
          {list.cleared > 0 && (
            <Button class="plain" label={`show ${list.cleared} cleared`} onClick={() => ui.clear(undefined)} />
          )}
        </div>
        {delivery === undefined && <Trouble />}
        {list.rows.length > 0 ? <RowTable rows={list.rows} /> : <NothingShown list={list} />}
      </section>
      {delivery !== undefined && <Detail key={delivery} id={delivery} />}
    </div>
  )
}

/** Advice on the latest attempt, if it failed. */
function Trouble(): JSX.Element | null {
  let newest: PlacedRow | undefined
  for (const row of page.rows.all)
    if (row.last !== null && !row.isGone && row.last.at >= (newest?.last?.at ?? '')) newest = row
  const { last, webhook, signing, id, type } = newest ?? {}
  if (!last || last.isAcknowledged || webhook === undefined || signing !== 'valid') return null
  const advice = adviseOn(last, page.urlOf(webhook))
  if (advice === undefined) return null
  const open = () => {
    ui.select(id)
    go({ delivery: id })
  }
  return (
    <p class="trouble verdict bad">
      <span aria-hidden="true">✕ </span>
      <Button class="plain" label={type ?? ''} onClick={open} /> {advice}
    </p>
  )
}

function Toolbar({ list }: { readonly list: ShownList }): JSX.Element {
  const { query } = readAddress()
  const bulk = (action: 'retry' | 'resend') => () => ui.open({ kind: 'bulk', bulk: bulkOf(action, list.rows) })
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
          if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur()
        }}
      />
      <Button class="main" label="Trigger" hotkey="t" onClick={() => ui.open({ kind: 'trigger' })} />
      <details class="menu">
        <summary>All shown</summary>
        <div class="items">
          <Button label="Resend…" onClick={bulk('resend')} />
          <Button label="Retry failed…" onClick={bulk('retry')} />
          <Button label="Export as JSON" onClick={save} />
          <Button label="Clear the list" onClick={() => ui.clear(page.rows.all[0]?.id)} />
        </div>
      </details>
    </div>
  )
}
