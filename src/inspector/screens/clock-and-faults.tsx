import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { FaultShape } from '../../emulator/contract.ts'
import { showDuration } from '../../host/duration.ts'
import { change, moveClock } from '../model/actions.ts'
import { store, useStore } from '../model/store.ts'
import { Button, Check, Choice, NumberField, TextField } from '../parts/fields.tsx'
import { At, In, useTime } from '../parts/small.tsx'

const STEPS = ['30s', '5m', '30m', '2h']

/** The emulator's clock, and the buttons that move a manual one. */
export function Clock(): JSX.Element {
  const now = useTime((time) => new Date(Math.floor(time / 1_000) * 1_000).toISOString())
  const { clock, settings } = useStore(() => store.state) ?? {}
  const [by, setBy] = useState('10s')
  const due = clock?.nextDueAt ?? null
  return (
    <>
      <header class="bar">
        <b>{clock?.isManual ? 'Manual clock' : 'The machine’s clock'}</b>
        <span class="mono">
          <At at={now} />
        </span>
      </header>
      <p class="dim">
        {due === null ? 'No attempt is planned' : 'Next attempt '}
        {due !== null && <In at={due} />}.
        {settings?.retryScale !== 1 && ` Delays between attempts are divided by ${settings?.retryScale}.`}
        {` An attempt waits ${showDuration(settings?.deadlineMs ?? 0)} for its answer.`}
      </p>
      {clock?.isManual ? (
        <form
          class="bar"
          onSubmit={(event) => {
            event.preventDefault()
            moveClock({ advance: by })
          }}
        >
          <Button class="main" label="Next attempt" hotkey="n" onClick={() => moveClock({ next: true })} />
          {STEPS.map((step) => (
            <Button key={step} label={`+ ${step}`} onClick={() => moveClock({ advance: step })} />
          ))}
          <TextField label="by" size={9} value={by} onInput={setBy} />
          <Button type="submit" label="Advance" />
        </form>
      ) : (
        <p>
          Start with <code>--clock manual</code> to move the time yourself, or with <code>--retry-scale 600</code> to
          wait 50 ms instead of 30 s.
        </p>
      )}
    </>
  )
}

/** The faults of deliveries and of the API. */
export function Faults(): JSX.Element | null {
  const faults = useStore(() => store.state?.faults)
  if (faults === undefined) return null
  return (
    <>
      <DeliveryFaults key={JSON.stringify(faults.deliveries)} faults={faults.deliveries} />
      <ApiFaults />
    </>
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
    change(
      'POST faults',
      {
        deliveries: { fail, duplicate, shuffle, ...(latency !== '' && { latency: [Number(from), Number(to)] }) },
      },
      'faults set',
    )
  }
  return (
    <form onSubmit={set} aria-label="Faults of deliveries">
      <h3>Faults of deliveries</h3>
      <div class="fields">
        <Share label="Lost before they are sent" value={fail} onInput={setFail} />
        <Share label="Sent twice" value={duplicate} onInput={setDuplicate} />
        <TextField
          label="Latency"
          size={9}
          placeholder="50-500"
          pattern="\d*(-\d+)?"
          value={latency}
          onInput={setLatency}
          after="ms"
        />
        <Check label="in any order" value={shuffle} onInput={setShuffle} />
        <span class="push" />
        <Button type="submit" class="main" label="Set" />
      </div>
    </form>
  )
}

interface ShareOptions {
  readonly label: string
  readonly value: number
  readonly onInput: (share: number) => void
}

/** A field for a share in per cent. A finer share stays as it is until the user changes it. */
function Share({ label, value, onInput }: ShareOptions): JSX.Element {
  const set = (percent: number) => onInput(percent / 100)
  return <NumberField label={label} min={0} max={100} value={Math.round(value * 100)} onInput={set} after="%" />
}

const ANSWERS = ['401', '429', '500', 'slow', 'reset']

function ApiFaults(): JSX.Element {
  const [answer, setAnswer] = useState('429')
  const [count, setCount] = useState(1)
  const waiting = store.state?.faults.answers ?? []
  const add = (event: Event) => {
    event.preventDefault()
    change('POST faults', { answer, count })
  }
  const clear = () => change('DELETE faults', undefined, 'faults reset to those at the start')
  return (
    <form onSubmit={add} aria-label="Faults of the API">
      <h3>Faults of the API</h3>
      <div class="fields">
        <NumberField label="The next" value={count} onInput={setCount} />
        <Choice label="calls get" options={ANSWERS} value={answer} onInput={setAnswer} />
        <span class="push" />
        <Button type="submit" class="main" label="Add" />
      </div>
      {waiting.length > 0 && <p>To come: {waiting.map((each) => `${each.count} × ${each.answer}`).join(', ')}.</p>}
      <div class="bar">
        <Button class="plain" label="Reset all faults to those at the start" onClick={clear} />
      </div>
    </form>
  )
}
