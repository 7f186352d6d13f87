import type { JSX } from 'preact'
import type { Row } from '../../emulator/contract.ts'
import { bulkOf } from '../model/bulk.ts'
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

function describeGroup(rows: readonly Row[]) {
  const { id = '', webhook = '', note = null, last = null, at = null } = rows[0] ?? {}
  const url = store.urlOf(webhook)
  const cause = note ?? [last?.result, last?.code].filter(Boolean).join(' ')
  const query = `webhook:${webhook} ${note === null ? `code:${last?.result}` : 'status:failed'}`
  const bulk = bulkOf('retry', rows)
  const number = bulk.calls.length.toLocaleString('en')
  const retried = rows.filter(({ status }) => status === 'pending').length
  return {
    key: id,
    cells: [
      <>
        <ViewLink view={{ query, isGrouped: false }}>{cause}</ViewLink>
        <small>{url || webhook}</small>
        {note === null && last !== null && <small>{adviseOn(last, url, store.state?.settings.deadlineMs)}</small>}
      </>,
      <>
        {bulk.calls.length > 0 && (
          <Button label={`Retry ${number}…`} onClick={() => store.set({ dialog: { kind: 'bulk', bulk } })} />
        )}
        {retried > 0 && <small>{retried.toLocaleString('en')} retrying</small>}
      </>,
      <Ago at={last?.at ?? at} />,
    ],
  }
}
