import type { JSX } from 'preact'
import type { ApiCall } from '../../emulator/contract.ts'
import { useCall } from '../detail/use-detail.ts'
import { readAddress, SECTIONS, type Section } from '../model/address.ts'
import { store, useStore } from '../model/store.ts'
import { Ago, Empty, Table, useTime, ViewLink } from '../parts/small.tsx'
import { Clock, Faults } from './clock-and-faults.tsx'

const PARTS: Readonly<Record<Section, () => JSX.Element | null>> = {
  calls: Calls,
  clock: Clock,
  faults: Faults,
}

/** The emulated service. Each section is loaded when it is opened. */
export function ServiceScreen(): JSX.Element {
  const { section = 'calls' } = useStore(readAddress)
  const dialect = useStore(() => store.state?.settings.dialect)
  const Part = PARTS[section]
  return (
    <div class="page">
      <h1 class="unseen">Service</h1>
      <nav class="bar" aria-label="Sections">
        {Object.entries(SECTIONS).map(([name, title]) => (
          <ViewLink
            key={name}
            view={{ screen: 'service', section: name as Section }} // a key of the sections
            isCurrent={name === section}
          >
            {title}
          </ViewLink>
        ))}
      </nav>
      <section aria-label={SECTIONS[section]}>
        <Part />
      </section>
      <p class="dim">
        Dialect: {dialect}. The emulator assumes what the service's documents leave open:{' '}
        <code>npx postern emulator --assumptions</code> lists it.
      </p>
    </div>
  )
}

const CALL_COLUMNS = [['Call'], ['Status'], ['Rate left', 'number'], ['When', 'number dim']] as const
const NO_CALLS = "Your client's calls of /api/… appear here, with their status and the remaining rate limit."

/** Every call of the service's API, the newest first. */
function Calls(): JSX.Element {
  const second = useTime((now) => Math.floor(now / 1_000), true)
  const { value: calls = [], error } = useCall<readonly ApiCall[]>('GET calls', String(second))
  if (calls.length === 0) return <Empty title={error ?? 'No API calls yet'} text={NO_CALLS} />
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
    <>
      <p class="dim">The last {calls.length} calls of your client.</p>
      <Table name="Calls" columns={CALL_COLUMNS} rows={rows} />
    </>
  )
}
