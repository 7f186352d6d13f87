import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { change, moveClock } from '../model/actions.ts'
import { page } from '../model/page-model.ts'
import { Times } from '../parts/fields.tsx'
import { In, Key } from '../parts/small.tsx'
import { useNow } from '../parts/ticker.ts'
import type { FaultShape } from '../shapes.ts'
import { showExact, showLength } from '../text/times.ts'

/** The clock, and the faults of deliveries and of the API. */
export function ClockAndFaults(): JSX.Element {
  const { state } = page
  if (state === undefined) return <div class="page" />
  return (
    <div class="page">
      <h1>Clock and faults</h1>
      <Clock />
      <DeliveryFaults key={JSON.stringify(state.faults.deliveries)} faults={state.faults.deliveries} />
      <ApiFaults />
    </div>
  )
}

const STEPS = ['30s', '5m', '30m', '2h']

function Clock(): JSX.Element {
  const now = useNow()
  const { clock, settings } = page.state ?? {}
  const [by, setBy] = useState('10s')
  const due = clock?.nextDueAt ?? null
  return (
    <section class="card" aria-label="Clock">
      <header>
        <h2>{clock?.isManual ? 'Manual clock' : 'The machine’s clock'}</h2>
        <span class="mono">{showExact(now)}</span>
      </header>
      <p class="dim">
        {due === null ? (
          'No attempt is planned.'
        ) : (
          <>
            Next attempt <In at={due} />.
          </>
        )}
        {settings?.retryScale !== 1 && ` Delays between attempts are divided by ${settings?.retryScale}.`}
        {` An attempt waits ${showLength(settings?.deadlineMs ?? 0)} for its answer.`}
      </p>
      {clock?.isManual ? (
        <form
          class="bar"
          onSubmit={(event) => {
            event.preventDefault()
            moveClock({ advance: by })
          }}
        >
          <button type="button" class="main" onClick={() => moveClock({ next: true })}>
            Next attempt <Key name="n" />
          </button>
          {STEPS.map((step) => (
            <button key={step} type="button" onClick={() => moveClock({ advance: step })}>
              + {step}
            </button>
          ))}
          <label>
            by <input type="text" class="mono short" value={by} onInput={(event) => setBy(event.currentTarget.value)} />
          </label>
          <button type="submit">Advance</button>
        </form>
      ) : (
        <p>
          Start with <code>--clock manual</code> to move the time yourself, or with <code>--retry-scale 600</code> to
          wait 50 ms instead of 30 s.
        </p>
      )}
    </section>
  )
}

function DeliveryFaults({ faults }: { readonly faults: FaultShape }): JSX.Element {
  const [fail, setFail] = useState(faults.fail)
  const [duplicate, setDuplicate] = useState(faults.duplicate)
  const [shuffle, setShuffle] = useState(faults.shuffle)
  const [latency, setLatency] = useState(faults.latencyMs?.join('-') ?? '')
  const set = (event: Event) => {
    event.preventDefault()
    const [from = '', to = from] = latency.split('-')
    const latencyField = latency === '' ? {} : { latency: [Number(from), Number(to)] }
    change('POST faults', { deliveries: { fail, duplicate, shuffle, ...latencyField } }, 'faults set')
  }
  return (
    <form class="card" onSubmit={set} aria-label="Faults of deliveries">
      <h2>Faults of deliveries</h2>
      <div class="fields">
        <Share label="Lost before they are sent" value={fail} onInput={setFail} />
        <Share label="Sent twice" value={duplicate} onInput={setDuplicate} />
        <label>
          Latency{' '}
          <input
            type="text"
            class="mono short"
            placeholder="50-500"
            pattern="\d*(-\d+)?"
            value={latency}
            onInput={(event) => setLatency(event.currentTarget.value)}
          />{' '}
          ms
        </label>
        <label>
          <input type="checkbox" checked={shuffle} onChange={(event) => setShuffle(event.currentTarget.checked)} /> in
          any order
        </label>
        <span class="push" />
        <button type="submit" class="main">
          Set
        </button>
      </div>
    </form>
  )
}

interface ShareOptions {
  readonly label: string
  readonly value: number
  readonly onInput: (share: number) => void
}

function Share({ label, value, onInput }: ShareOptions): JSX.Element {
  return (
    <label>
      {label}{' '}
      <input
        type="number"
        min={0}
        max={100}
        value={Math.round(value * 100)}
        onInput={(event) => onInput(Math.min(100, Math.max(0, Number(event.currentTarget.value))) / 100)}
      />{' '}
      %
    </label>
  )
}

const ANSWERS = ['401', '429', '500', 'slow', 'reset']

function ApiFaults(): JSX.Element {
  const [answer, setAnswer] = useState('429')
  const [count, setCount] = useState(1)
  const waiting = page.state?.faults.answers ?? []
  const add = (event: Event) => {
    event.preventDefault()
    change('POST faults', { answer, count })
  }
  const clear = () => change('DELETE faults', undefined, 'faults reset to those at the start')
  return (
    <form class="card" onSubmit={add} aria-label="Faults of the API">
      <h2>Faults of the API</h2>
      <div class="fields">
        <Times label="The next" count={count} onInput={setCount}>
          {' '}
          calls get
        </Times>
        <select value={answer} aria-label="Answer" onChange={(event) => setAnswer(event.currentTarget.value)}>
          {ANSWERS.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <span class="push" />
        <button type="submit" class="main">
          Add
        </button>
      </div>
      {waiting.length > 0 && <p>To come: {waiting.map((each) => `${each.count} × ${each.answer}`).join(', ')}.</p>}
      <div class="bar">
        <button type="button" class="plain" onClick={clear}>
          Reset all faults to those at the start
        </button>
      </div>
    </form>
  )
}
