import { escapeHidden } from '../../wire/hidden.ts'
import { bulkOf, openBulk } from '../dialogs/bulk-dialog.tsx'
import { tryOnce } from '../model/actions.ts'
import { readAddress } from '../model/address.ts'
import { writeWord } from '../model/filter.ts'
import { groupFailures } from '../model/list.ts'
import { reasonOf } from '../model/outcome.ts'
import { Button } from './fields.tsx'
import { NothingFailed } from './nothing-shown.tsx'
import { Ago, nameWebhook, Table, ViewLink } from './small.tsx'

const COLUMNS = [['Cause'], ['Failed', 'number'], ['First', 'number dim'], ['Last', 'number dim']] as const

export function FailureGroups() {
  const groups = groupFailures()
  if (groups.length === 0) return <NothingFailed />
  return (
    <div class="scroll">
      <Table name="Causes" columns={COLUMNS} rows={groups.map(describeGroup)} />
    </div>
  )
}

function describeGroup([cause, rows]: ReturnType<typeof groupFailures>[number]) {
  const [newest] = rows
  const isEvent = newest?.webhook === ''
  const query = writeWord(readAddress().query, 'cause', cause)
  const bulk = bulkOf(rows)
  const places = [...new Set(rows.map(({ account, webhook }) => (isEvent ? account : nameWebhook(webhook))))]
  const leftOut = [...bulk.leftOut].map(([reason, number]) => `${number.toLocaleString('en')}: ${reason}`)
  const [first, ...others] = bulk.rows
  const label = others.length === 0 ? 'Try again' : `Try again ${bulk.rows.length.toLocaleString('en')}…`
  return {
    key: cause,
    cells: [
      <>
        <ViewLink view={{ query, isGrouped: false }}>
          {escapeHidden(newest ? `${newest.type} · ${reasonOf(newest)?.text}` : cause)}
        </ViewLink>
        <small>{places.join(', ')}</small>
        <small>{newest?.advice}</small>
      </>,
      <>
        {rows.length.toLocaleString('en')}{' '}
        {first && (
          <Button label={label} onClick={() => (others.length === 0 ? tryOnce(first.id, first) : openBulk(bulk))} />
        )}
        <small>{leftOut.join(', ')}</small>
      </>,
      <Ago at={rows.at(-1)?.at ?? null} isReal={isEvent} />,
      <Ago at={newest?.at ?? null} isReal={isEvent} />,
    ],
  }
}
