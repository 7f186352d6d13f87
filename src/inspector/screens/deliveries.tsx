import type { JSX } from 'preact'
import { Detail } from '../detail/detail.tsx'
import { saveFile } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { bulkOf } from '../model/bulk.ts'
import { listShown, type ShownList } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { ui } from '../model/ui.ts'
import { NothingShown } from '../parts/nothing-shown.tsx'
import { RowTable } from '../parts/row-table.tsx'
import { Key } from '../parts/small.tsx'
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
            <button type="button" class="fresh" onClick={() => ui.release()}>
              {list.fresh} new <Key name="." />
            </button>
          )}
          {list.cleared > 0 && (
            <button type="button" class="plain" onClick={() => ui.clear(undefined)}>
              show {list.cleared} cleared
            </button>
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
  return (
    <p class="trouble">
      <span aria-hidden="true">✕ </span>
      <button
        type="button"
        class="plain"
        onClick={() => {
          ui.select(id)
          go({ delivery: id })
        }}
      >
        {type}
      </button>{' '}
      {advice}
    </p>
  )
}

function Toolbar({ list }: { readonly list: ShownList }): JSX.Element {
  const { query } = readAddress()
  const bulk = (action: 'retry' | 'resend') => () => ui.open({ kind: 'bulk', bulk: bulkOf(action, list.rows) })
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
      <button type="button" class="main" onClick={() => ui.open({ kind: 'trigger' })}>
        Trigger <Key name="t" />
      </button>
      <details class="menu">
        <summary>All shown</summary>
        <div class="items">
          <button type="button" onClick={bulk('resend')}>
            Resend…
          </button>
          <button type="button" onClick={bulk('retry')}>
            Retry failed…
          </button>
          <button type="button" onClick={() => saveFile('deliveries.json', JSON.stringify(list.rows, null, 2))}>
            Export as JSON
          </button>
          <button type="button" onClick={() => ui.clear(page.rows.all[0]?.id)}>
            Clear the list
          </button>
        </div>
      </details>
    </div>
  )
}
