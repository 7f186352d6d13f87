import type { JSX } from 'preact'
import { follow, go, NOTHING_OPEN, toPageUrl } from '../model/address.ts'
import { bulkOf } from '../model/bulk.ts'
import { type FailureGroup, groupFailures } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { ui } from '../model/ui.ts'
import { ChoiceButtons, type Ticks, useChoice } from '../parts/choice.tsx'
import { Ago, Empty } from '../parts/small.tsx'
import { count } from '../text/count.ts'
import { adviseOn } from '../text/explain.ts'

/** Limit of rows drawn in a group. The group's checkbox selects all of its rows. */
const MOST_SHOWN = 20

/** Deliveries that have used up their attempts, by webhook and cause. */
export function FailedScreen(): JSX.Element {
  const choice = useChoice()
  const groups = groupFailures()
  const rows = groups.flatMap((group) => group.rows)
  if (rows.length === 0)
    return (
      <Empty title="Nothing has failed">
        <p>A delivery appears here when its fifth attempt has failed. You can retry it by hand.</p>
      </Empty>
    )
  return (
    <div class="page">
      <div class="bar">
        <h1>
          {count(rows.length, 'failed delivery', 'failed deliveries')}, {count(groups.length, 'cause', 'causes')}
        </h1>
        <span class="push" />
        <ChoiceButtons
          verb="Retry"
          rows={rows}
          keyOf={({ id }) => id}
          choice={choice}
          onRun={(selected) => ui.open({ kind: 'bulk', bulk: bulkOf('retry', selected) })}
        />
      </div>
      {groups.map((group) => (
        <Group key={group.key} group={group} choice={choice} />
      ))}
    </div>
  )
}

interface GroupOptions {
  readonly group: FailureGroup
  readonly choice: Ticks
}

function Group({ group, choice }: GroupOptions): JSX.Element {
  const { webhook, result, code, note, rows } = group
  const url = page.urlOf(webhook)
  const ids = rows.map(({ id }) => id)
  const number = ids.filter((id) => choice.chosen.has(id)).length
  const inList = { ...NOTHING_OPEN, screen: 'deliveries', query: `status:failed webhook:${webhook}` } as const
  const cause = note ?? [result, code].filter(Boolean).join(' ')
  const advice = note === null ? adviseOn({ result, code }, url) : undefined
  return (
    <section class="group" aria-label={`${cause}, ${url}`}>
      <header>
        <label>
          <input
            type="checkbox"
            checked={number === ids.length}
            ref={(box) => {
              if (box !== null) box.indeterminate = number > 0 && number < ids.length
            }}
            onChange={(event) => choice.choose(ids, event.currentTarget.checked)}
          />{' '}
          <b class="result bad">✕ {cause}</b> <span class="dim">× {rows.length.toLocaleString('en')}</span>
        </label>
        <span class="url mono dim">{url || webhook}</span>
      </header>
      {advice !== undefined && <p>{advice}</p>}
      <ul class="picks">
        {rows.slice(0, MOST_SHOWN).map((row) => (
          <Pick key={row.id} row={row} choice={choice} />
        ))}
      </ul>
      {rows.length > MOST_SHOWN && (
        <p class="dim">
          and {(rows.length - MOST_SHOWN).toLocaleString('en')} more,{' '}
          <a href={toPageUrl(inList)} onClick={(event) => follow(event, () => go(inList))}>
            in the list
          </a>
        </p>
      )}
    </section>
  )
}

interface PickOptions {
  readonly row: PlacedRow
  readonly choice: Ticks
}

function Pick({ row, choice }: PickOptions): JSX.Element {
  const open = (event: MouseEvent) =>
    follow(event, () => {
      ui.select(row.id)
      go({ screen: 'deliveries', delivery: row.id })
    })
  return (
    <li>
      <input
        type="checkbox"
        checked={choice.chosen.has(row.id)}
        aria-label={`Select ${row.type} ${row.event}`}
        onChange={(event) => choice.choose([row.id], event.currentTarget.checked)}
      />
      <a href={`?d=${row.id}`} onClick={open}>
        {row.type}
      </a>
      <span class="mono dim">{row.event}</span>
      <span class="dim">
        <Ago at={row.last?.at ?? row.at} />
      </span>
    </li>
  )
}
