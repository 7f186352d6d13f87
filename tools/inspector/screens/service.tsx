import type { JSX } from 'preact'
import type { ApiCall, AssumptionShape } from '../../emulator/contract.ts'
import { useCall } from '../detail/use-detail.ts'
import { readAddress, SECTIONS, type Section } from '../model/address.ts'
import { store, useStore } from '../model/store.ts'
import { Ago, Empty, Notes, Table, useTime, ViewLink } from '../parts/small.tsx'
import { Clock, Faults } from './clock-and-faults.tsx'
import { Records } from './records.tsx'

const PARTS: Readonly<Record<Section, () => JSX.Element | null>> = {
  records: Records,
  calls: Calls,
  clock: Clock,
  faults: Faults,
  assumptions: Assumptions,
}

/** The emulated service. Each section is loaded when it is opened. */
export function ServiceScreen(): JSX.Element {
  const { section = 'records' } = useStore(readAddress)
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

/** Assumptions about what the service's documents leave open: first those that differ from the default. */
function Assumptions(): JSX.Element {
  const bootId = useStore(() => store.state?.bootId ?? '')
  const { value = [], error } = useCall<readonly AssumptionShape[]>('GET assumptions', bootId)
  const sorted = value.toSorted((one, other) => Number(one.isDefault) - Number(other.isDefault))
  const rows = sorted.map(({ id, name, subject, value: assumed, meaning, isDefault }) => ({
    key: id,
    cells: [
      <>
        <Marked text={`${id} ${subject}`} />
        <small>{name}</small>
      </>,
      <>
        <code>{assumed}</code>
        {!isDefault && <small>changed</small>}
      </>,
      <Marked text={meaning} />,
    ],
  }))
  return (
    <>
      <p class="dim">
        The service's documents leave these points open. The emulator assumes one answer to each. Dialect:{' '}
        {store.state?.settings.dialect}. Choose another one at the start, with <code>--dialect</code> or{' '}
        <code>--assume name=value</code>.
      </p>
      <Notes problem={error} />
      <Table name="Assumptions" columns={[['Open point'], ['Assumed'], ['Meaning']]} rows={rows} />
    </>
  )
}

/** Text with code between backticks. */
function Marked({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
}
