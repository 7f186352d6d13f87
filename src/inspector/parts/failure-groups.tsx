import type { JSX } from 'preact'
import { bulkOf } from '../model/bulk.ts'
import { groupFailures } from '../model/list.ts'
import type { PlacedRow } from '../model/rows.ts'
import { store } from '../model/store.ts'
import { count } from '../text/count.ts'
import { adviseOn } from '../text/explain.ts'
import { Button } from './fields.tsx'
import { Empty, ViewLink } from './small.tsx'

const retry = (rows: readonly PlacedRow[]) => store.set({ dialog: { kind: 'bulk', bulk: bulkOf('retry', rows) } })

/** Deliveries that have used up their attempts, by webhook and cause. */
export function FailureGroups(): JSX.Element {
  const groups = groupFailures()
  const rows = groups.flat()
  if (rows.length === 0)
    return (
      <Empty
        title="Nothing has failed"
        text="A delivery appears here when its fifth attempt has failed. You can retry it by hand."
      />
    )
  return (
    <div class="scroll causes">
      <div class="bar">
        <h2>
          {count(rows.length, 'failed delivery', 'failed deliveries')}, {count(groups.length, 'cause', 'causes')}
        </h2>
        <span class="push" />
        <Button label={`Retry all ${rows.length.toLocaleString('en')}…`} onClick={() => retry(rows)} />
      </div>
      {groups.map((group) => (
        <Group key={group[0]?.id} rows={group} />
      ))}
    </div>
  )
}

function Group({ rows }: { readonly rows: readonly PlacedRow[] }): JSX.Element {
  const { webhook = '', note = null, last = null } = rows[0] ?? {}
  const url = store.urlOf(webhook)
  const cause = note ?? [last?.result, last?.code].filter(Boolean).join(' ')
  const number = rows.length.toLocaleString('en')
  const advice = note === null && last !== null ? adviseOn(last, url, store.state?.settings.deadlineMs) : undefined
  const query = `status:failed webhook:${webhook}${note === null ? ` code:${last?.result}` : ''}`
  return (
    <section class="card" aria-label={`${cause}, ${url}`}>
      <header>
        <h3 class="result bad">✕ {cause}</h3>
        <span class="url mono dim">{url || webhook}</span>
      </header>
      {advice !== undefined && <p>{advice}</p>}
      <div class="bar">
        <Button label={`Retry ${number}…`} onClick={() => retry(rows)} />
        <ViewLink view={{ query, isGrouped: false }}>Show {number} in the list</ViewLink>
      </div>
    </section>
  )
}
