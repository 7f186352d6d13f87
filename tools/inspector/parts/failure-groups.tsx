import type { JSX } from 'preact'
import type { Row } from '../../emulator/contract.ts'
import { readAddress } from '../model/address.ts'
import { bulkOf } from '../model/bulk.ts'
import { writeWord } from '../model/filter.ts'
import { groupFailures } from '../model/list.ts'
import { store } from '../model/store.ts'
import { adviseOn } from '../text/explain.ts'
import { Button } from './fields.tsx'
import { Ago, Empty, Table, ViewLink } from './small.tsx'

const COLUMNS = [['Cause'], ['Deliveries', 'number'], ['Newest', 'number dim']] as const
const NONE = 'A delivery appears here when an attempt has failed. After the fifth, you can retry it by hand.'

/** Deliveries whose last attempt has failed, by webhook and cause. */
export function FailureGroups(): JSX.Element {
  const groups = groupFailures()
  if (groups.length === 0) return <Empty title="Nothing has failed" text={NONE} />
  return (
    <div class="scroll">
      <Table name="Causes" columns={COLUMNS} rows={groups.map(describeGroup)} />
    </div>
  )
}

function describeGroup(rows: readonly [Row, ...Row[]]) {
  const { id, webhook, note, last, at } = rows[0]
  const url = store.urlOf(webhook)
  const cause = note ?? [last?.result, last?.code].filter(Boolean).join(' ')
  const words =
    note === null ? [last?.result, last?.code].flatMap((code) => (code ? [`code:${code}`] : [])) : [`"${note}"`]
  const query = [writeWord(readAddress().query, 'webhook', webhook), ...words].join(' ').trim()
  const bulk = bulkOf('retry', rows)
  const retry = () => store.set({ dialog: { kind: 'bulk', bulk } })
  return {
    key: id,
    cells: [
      <>
        <ViewLink view={{ query, isGrouped: false }}>{cause}</ViewLink>
        <small>{url || webhook}</small>
        {note === null && <small>{adviseOn(rows[0], url, store.state?.settings.deadlineMs)}</small>}
      </>,
      <>
        {rows.length.toLocaleString('en')}{' '}
        {bulk.calls.length > 0 && <Button label={`Retry ${bulk.calls.length.toLocaleString('en')}…`} onClick={retry} />}
        {[...bulk.leftOut].map(([reason, number]) => (
          <small key={reason}>{`${number.toLocaleString('en')} ${reason}`}</small>
        ))}
      </>,
      <Ago at={last?.at ?? at} />,
    ],
  }
}
