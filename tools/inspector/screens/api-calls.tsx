import type { JSX } from 'preact'
import type { ApiCall } from '../../emulator/contract.ts'
import { useCall } from '../detail/use-detail.ts'
import { store } from '../model/store.ts'
import { Ago, Table } from '../parts/small.tsx'

const COLUMNS = [['Call'], ['Status'], ['Rate left', 'number'], ['When', 'number dim']] as const
const NONE = "Your client's calls of /api/… appear here, with their status and the remaining rate limit."

/** Every call of the service's API, the newest first. */
export function ApiCalls(): JSX.Element {
  const second = Math.floor(Date.now() / 1_000)
  const dialect = store.state?.settings.dialect
  const { value: calls = [], error } = useCall<readonly ApiCall[]>('GET calls', String(second))
  const rows = calls.slice(0, 200).map(({ id, status, method, path, account, rateRemaining, at }) => ({
    key: id,
    cells: [
      <>
        <code>{`${method} ${path}`}</code>
        <small>{account ?? 'no account'}</small>
      </>,
      status < 400 ? `✓ ${status}` : <b class="result bad">✕ {status}</b>,
      rateRemaining ?? '–',
      <Ago at={at} />,
    ],
  }))
  return (
    <section>
      <h2>API calls</h2>
      {rows.length > 0 ? <Table name="API calls" columns={COLUMNS} rows={rows} /> : <p class="dim">{error ?? NONE}</p>}
      <p class="dim">
        Dialect: {dialect}. The emulator assumes what the service's documents leave open:{' '}
        <code>npx postern emulator --assumptions</code> lists it.
      </p>
    </section>
  )
}
