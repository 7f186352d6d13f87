import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { showDuration } from '../../../src/host/duration.ts'
import type { FaultShape } from '../../emulator/contract.ts'
import { change, moveClock } from '../model/actions.ts'
import { store, useStore } from '../model/store.ts'
import { Button, Field, Fields } from '../parts/fields.tsx'
import { At, In, useTime } from '../parts/small.tsx'

const STEPS = ['30s', '5m', '30m', '2h']

/** The emulator's clock, and the buttons that move a manual one. */
export function Clock(): JSX.Element {
  const now = useTime((time) => new Date(Math.floor(time / 1_000) * 1_000).toISOString())
  const { clock, settings } = useStore(() => store.state) ?? {}
  const [by, setBy] = useState('10s')
  const due = clock?.nextDueAt ?? null
  return (
    <form onSubmit={submitTo(() => moveClock({ advance: by }))}>
      <p>
        <b>{clock?.isManual ? 'Manual clock' : 'The machine’s clock'}</b>{' '}
        <code>
          <At at={now} />
        </code>
      </p>
      <p class="dim">
        {due === null ? 'No attempt is planned' : 'Next attempt '}
        {due !== null && <In at={due} />}.
        {settings?.retryScale !== 1 && ` Delays between attempts are divided by ${settings?.retryScale}.`}
        {` An attempt waits ${showDuration(settings?.deadlineMs ?? 0)} for its answer.`}
      </p>
      {clock?.isManual ? (
        <div class="bar">
          <Button class="main" label="Next attempt" hotkey="n" onClick={() => moveClock({ next: true })} />
          {STEPS.map((step) => (
            <Button key={step} label={`+ ${step}`} onClick={() => moveClock({ advance: step })} />
          ))}
          <Field label="by" size={9} value={by} onInput={setBy} />
          <Button type="submit" label="Advance" />
        </div>
      ) : (
        <p>
          Start with <code>--clock manual</code> to move the time yourself, or with <code>--retry-scale 600</code> to
          wait 50 ms instead of 30 s.
        </p>
      )}
    </form>
  )
}

const DELIVERY_SHAPES = {
  fail: { label: 'Lost before they are sent', min: 0, max: 100, after: '%' },
  duplicate: { label: 'Sent twice', min: 0, max: 100, after: '%' },
  latency: { label: 'Latency', size: 9, placeholder: '50-500', pattern: '\\d*(-\\d+)?', after: 'ms' },
  shuffle: { label: 'in any order' },
}
const API_SHAPES = {
  count: { label: 'The next' },
  answer: { label: 'calls get', options: ['401', '429', '500', 'slow', 'reset'] },
}

/** The faults of deliveries and of the API. */
export function Faults(): JSX.Element | null {
  const faults = useStore(() => store.state?.faults)
  const [api, setApi] = useState({ count: 1, answer: '429' })
  if (faults === undefined) return null
  const reset = () => change('DELETE faults', undefined, 'faults reset to those at the start')
  return (
    <>
      <DeliveryFaults key={JSON.stringify(faults.deliveries)} faults={faults.deliveries} />
      <form onSubmit={submitTo(() => change('POST faults', api))} aria-label="Faults of the API">
        <h2>Faults of the API</h2>
        <Fields shapes={API_SHAPES} values={api} onInput={setApi} />
        {faults.answers.length > 0 && (
          <p>To come: {faults.answers.map((each) => `${each.count} × ${each.answer}`).join(', ')}.</p>
        )}
        <div class="bar">
          <Button type="submit" class="main" label="Add" />
          <Button label="Reset all faults to those at the start" onClick={reset} />
        </div>
      </form>
    </>
  )
}

function submitTo(work: () => unknown) {
  return (event: Event) => {
    event.preventDefault()
    work()
  }
}

function DeliveryFaults({ faults }: { readonly faults: FaultShape }): JSX.Element {
  const toPercent = (share: number) => Math.round(share * 100)
  const [values, setValues] = useState({
    fail: toPercent(faults.fail),
    duplicate: toPercent(faults.duplicate),
    shuffle: faults.shuffle,
    latency: faults.latencyMs?.join('-') ?? '',
  })
  const set = () => {
    const { fail, duplicate, latency, shuffle } = values
    const [from = '', to = from] = latency.split('-')
    const shares = { fail: fail / 100, duplicate: duplicate / 100 }
    const deliveries = { ...shares, shuffle, ...(latency !== '' && { latency: [Number(from), Number(to)] }) }
    change('POST faults', { deliveries }, 'faults set')
  }
  return (
    <form onSubmit={submitTo(set)} aria-label="Faults of deliveries">
      <h2>Faults of deliveries</h2>
      <Fields shapes={DELIVERY_SHAPES} values={values} onInput={setValues} />
      <div class="bar">
        <Button type="submit" class="main" label="Set" />
      </div>
    </form>
  )
}
