import type { JSX } from 'preact'
import type { Row } from '../../emulator/contract.ts'
import { bulkOf } from '../model/bulk.ts'
import { groupFailures } from '../model/list.ts'
import { store } from '../model/store.ts'
import { adviseOn } from '../text/explain.ts'
import { Button } from './fields.tsx'
import { Ago, Empty, Table, ViewLink } from './small.tsx'

const COLUMNS = [['Cause'], ['Deliveries', 'number'], ['Newest', 'number dim']] as const
const NONE = 'A delivery appears here when its fifth attempt has failed. You can retry it by hand.'

/** Deliveries that have used up their attempts, by webhook and cause. */
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
  const query = `status:failed webhook:${webhook}${note === null ? ` code:${last?.result}` : ''}`
  const retry = () => store.set({ dialog: { kind: 'bulk', bulk: bulkOf('retry', rows) } })
  return {
    key: id,
    cells: [
      <>
        <ViewLink view={{ query, isGrouped: false }}>{cause}</ViewLink>
        <small>{url || webhook}</small>
        {note === null && last !== null && <small>{adviseOn(last, url, store.state?.settings.deadlineMs)}</small>}
      </>,
      <Button label={`Retry ${rows.length.toLocaleString('en')}…`} onClick={retry} />,
      <Ago at={last?.at ?? at} />,
    ],
  }
}
