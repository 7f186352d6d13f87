import type { JSX } from 'preact'
import type { Row } from '../../emulator/contract.ts'
import { bulkOf, openBulk } from '../dialogs/bulk-dialog.tsx'
import { readAddress } from '../model/address.ts'
import { writeWord } from '../model/filter.ts'
import { groupFailures } from '../model/list.ts'
import { store } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { adviseOn } from '../text/explain.ts'
import { Button } from './fields.tsx'
import { NothingFailed } from './nothing-shown.tsx'
import { Ago, Table, ViewLink } from './small.tsx'

const COLUMNS = [['Cause'], ['Failed', 'number'], ['First', 'number dim wide'], ['Last', 'number dim']] as const

/** The failed deliveries of the list by cause: type and error. */
export function FailureGroups(): JSX.Element {
  const groups = groupFailures()
  if (groups.length === 0) return <NothingFailed />
  return (
    <div class="scroll">
      <Table name="Causes" columns={COLUMNS} rows={groups.map(([cause, rows]) => describeGroup(cause, rows))} />
    </div>
  )
}

function describeGroup(cause: string, rows: readonly Row[]) {
  const [newest] = rows
  const isEvent = newest?.webhook === ''
  const query = writeWord(readAddress().query, 'cause', cause)
  const bulk = bulkOf(rows)
  const placeOf = ({ account, webhook }: Row) => (isEvent ? account : store.urlOf(webhook) || 'a deleted webhook')
  const places = [...new Set(rows.map(placeOf))]
  const tryAll = () => openBulk(bulk)
  const advice = newest && adviseOn(newest, places[0] ?? '', store.state?.settings)
  return {
    key: cause,
    cells: [
      <>
        <ViewLink view={{ query, isGrouped: false }}>{escapeHidden(cause)}</ViewLink>
        <small>{places.join(', ')}</small>
        {advice && <small>{advice}</small>}
      </>,
      <>
        {rows.length.toLocaleString('en')}{' '}
        {bulk.calls.length > 0 && (
          <Button label={`Try again ${bulk.calls.length.toLocaleString('en')}…`} onClick={tryAll} />
        )}
        {[...bulk.leftOut].map(([reason, number]) => (
          <small key={reason}>{`${number.toLocaleString('en')}: ${reason}`}</small>
        ))}
      </>,
      <Ago at={rows.at(-1)?.at ?? null} isReal={isEvent} />,
      <Ago at={newest?.at ?? null} isReal={isEvent} />,
    ],
  }
}
