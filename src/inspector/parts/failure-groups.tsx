import type { JSX } from 'preact'
import { bulkOf } from '../model/bulk.ts'
import { type FailureGroup, groupFailures } from '../model/list.ts'
import { store } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { count } from '../text/count.ts'
import { adviseOn } from '../text/explain.ts'
import { ChoiceButtons, Tick, type Ticks, useChoice } from './choice.tsx'
import { Ago, Empty, ViewLink } from './small.tsx'

/** Limit of rows drawn in a group. The group's checkbox selects all of its rows. */
const MOST_SHOWN = 20

/** Deliveries that have used up their attempts, by webhook and cause. */
export function FailureGroups(): JSX.Element {
  const choice = useChoice()
  const groups = groupFailures()
  const rows = groups.flatMap((group) => group.rows)
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
        <ChoiceButtons
          verb="Retry"
          rows={rows}
          keyOf={({ id }) => id}
          choice={choice}
          onRun={(selected) => store.set({ dialog: { kind: 'bulk', bulk: bulkOf('retry', selected) } })}
        />
      </div>
      {groups.map((group) => (
        <Group key={group.key} group={group} choice={choice} />
      ))}
    </div>
  )
}

function Group({ group, choice }: { readonly group: FailureGroup; readonly choice: Ticks }): JSX.Element {
  const { webhook, result, code, note, rows } = group
  const url = store.urlOf(webhook)
  const ids = rows.map(({ id }) => id)
  const number = ids.filter((id) => choice.chosen.has(id)).length
  const cause = note ?? [result, code].filter(Boolean).join(' ')
  const advice = note === null ? adviseOn({ result, code }, url, store.state?.settings.deadlineMs) : undefined
  return (
    <section class="card group" aria-label={`${cause}, ${url}`}>
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
          <li key={row.id}>
            <Tick choice={choice} id={row.id} name={`${row.type} ${row.event}`} />
            <ViewLink view={{ isGrouped: true, delivery: row.id }}>{escapeHidden(row.type)}</ViewLink>
            <span class="mono dim">{escapeHidden(row.event)}</span>
            <span class="dim">
              <Ago at={row.last?.at ?? row.at} />
            </span>
          </li>
        ))}
      </ul>
      {rows.length > MOST_SHOWN && (
        <p class="dim">
          and {(rows.length - MOST_SHOWN).toLocaleString('en')} more,{' '}
          <ViewLink view={{ screen: 'deliveries', query: `status:failed webhook:${webhook}`, isGrouped: false }}>
            in the list
          </ViewLink>
        </p>
      )}
    </section>
  )
}
