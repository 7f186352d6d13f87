import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Detail } from '../detail/detail.tsx'
import { readAddress } from '../model/address.ts'
import { bulkOf } from '../model/bulk.ts'
import { listShown, readFilterTime, release, type ShownList, search } from '../model/list.ts'
import { causeOf } from '../model/outcome.ts'
import { store, useStore } from '../model/store.ts'
import { FailureGroups } from '../parts/failure-groups.tsx'
import { Button } from '../parts/fields.tsx'
import { FilterBar } from '../parts/filter-bar.tsx'
import { NothingShown } from '../parts/nothing-shown.tsx'
import { RowTable } from '../parts/row-table.tsx'
import { useTime } from '../parts/small.tsx'
import { count } from '../text/count.ts'

const SEARCH_EVERY_MS = 1_000
/** Time without a further letter after which the filter is searched for: a search reads all bodies. */
const TYPED_AFTER_MS = 300

/** The first screen: all deliveries, and the open one. */
export function DeliveriesScreen(): JSX.Element {
  const { query, delivery, isGrouped } = useStore(readAddress)
  useTime(readFilterTime)
  const list = useStore(listShown)
  useEffect(() => {
    const look = () => void search().catch(() => {}) // the next one looks again
    const first = setTimeout(look, TYPED_AFTER_MS)
    const timer = setInterval(look, SEARCH_EVERY_MS)
    return () => {
      clearTimeout(first)
      clearInterval(timer)
    }
  }, [query])
  return (
    <div class={delivery === undefined ? 'split' : 'split open'}>
      <section class="list" aria-label="Deliveries">
        {delivery === undefined && <h1 class="unseen">Deliveries</h1>}
        <FilterBar isValid={list.unknown.length === 0} />
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
  const { rows, total, fresh, unknown } = list
  const all = useStore(() => store.total)
  const { delivery } = readAddress()
  const known = count(total, 'delivery', 'deliveries')
  const isOutside = store.rows.find(delivery ?? '') !== undefined && !rows.some(({ id }) => id === delivery)
  const failed = rows.filter((row) => causeOf(row) !== undefined)
  const tryAll = () => store.set({ dialog: { kind: 'bulk', bulk: bulkOf(failed) } })
  return (
    <div class="hint-line">
      <span>{rows.length === total ? known : `${rows.length.toLocaleString('en')} of ${known}`}</span>
      {all > store.rows.all.length && store.rows.all.length > 0 && (
        <span title="Older deliveries open by their link, and are in “npx postern deliveries list”.">
          the newest of {all.toLocaleString('en')}
        </span>
      )}
      {fresh > 0 && <Button class="fresh" label={`${fresh.toLocaleString('en')} new`} hotkey="." onClick={release} />}
      {isOutside && <span>The open one does not match.</span>}
      {unknown.length > 0 && <span class="problem">ignored: {unknown.join(' ')}</span>}
      <span class="push" />
      {failed.length > 1 && (
        <Button
          class="plain"
          label={`Try all ${failed.length.toLocaleString('en')} failed again…`}
          hotkey="R"
          onClick={tryAll}
        />
      )}
    </div>
  )
}
