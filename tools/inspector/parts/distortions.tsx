import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { showDuration } from '../../../src/host/duration.ts'
import { Dialog } from '../dialogs/dialog.tsx'
import { act, change, moveClock } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { showExact } from '../text/show.ts'
import { Button, Fields } from './fields.tsx'
import { In } from './small.tsx'

/** Settings that distort all that the page shows: faults, the clock and the scale of delays. Each opens its form. */
export function Distortions() {
  const { faults, clock, settings } = store.state ?? {}
  const { fail = 0, duplicate = 0, shuffle, latencyMs } = faults?.deliveries ?? {}
  const texts = [
    fail > 0 && `${toPercent(fail)} % lost`,
    duplicate > 0 && `${toPercent(duplicate)} % twice`,
    latencyMs && `${latencyMs.join('-')} ms`,
    shuffle && 'any order',
    ...(faults?.answers.map(({ count, answer }) => `${count} × ${answer}`) ?? []),
  ]
  const { retryScale = 1 } = settings ?? {}
  const time = [clock?.isManual && 'manual', retryScale !== 1 && `×${retryScale}`]
  const chip = (name: string, unusual: readonly unknown[], draw: () => JSX.Element) => {
    const text = unusual.filter(Boolean).join(', ')
    return (
      <Button
        class={text === '' ? 'quiet' : 'chip'}
        label={[name.toLowerCase(), ...(text ? [text] : [])].join(': ')}
        aria-label={`${name}: ${text || 'as usual'}`}
        onClick={() => store.set({ dialog: draw })}
      />
    )
  }
  return [chip('Faults', texts, () => <FaultsDialog />), chip('Clock', time, () => <ClockDialog />)]
}

const FAULT_SHAPES = {
  fail: { label: 'Lost before they are sent, in %', min: 0, max: 100, autofocus: true },
  duplicate: { label: 'Sent twice, in %', min: 0, max: 100 },
  latency: { label: 'Latency, in ms', placeholder: '50-500' },
  shuffle: { label: 'in any order' },
}

/** A share as percent, exactly: 0.004 is 0.4. */
function toPercent(share: number): number {
  return Number((share * 100).toPrecision(12))
}

function FaultsDialog() {
  const { fail = 0, duplicate = 0, shuffle = false, latencyMs = [] } = store.state?.faults.deliveries ?? {}
  const [values, setValues] = useState({
    fail: toPercent(fail),
    duplicate: toPercent(duplicate),
    shuffle,
    latency: latencyMs.join('-'),
  })
  const set = () => {
    const [from = '', to = from] = values.latency.split('-')
    const latency = from === '' ? {} : { latency: [Number(from), Number(to)] }
    const shares = { fail: values.fail / 100, duplicate: values.duplicate / 100 }
    return change('POST faults', { deliveries: { ...shares, ...latency, shuffle: values.shuffle } }, 'faults set')
  }
  const reset = () => change('DELETE faults', undefined, 'faults reset to those at the start')
  return (
    <Dialog
      title="Faults of deliveries"
      verb="Set"
      buttons={<Button label="Reset all to those at the start" onClick={() => act(reset)} />}
      onSubmit={set}
    >
      <Fields shapes={FAULT_SHAPES} values={values} onInput={setValues} />
    </Dialog>
  )
}

const CLOCK_SHAPES = { by: { label: 'Advance by', list: ['30s', '5m', '30m', '2h'], autofocus: true } }

function ClockDialog() {
  const now = new Date(store.now()).toISOString()
  const { clock, settings } = store.state ?? {}
  const [values, setValues] = useState({ by: '10s' })
  const due = clock?.nextDueAt ?? null
  return (
    <Dialog
      title={clock?.isManual ? 'Manual clock' : 'The machine’s clock'}
      verb={clock?.isManual ? 'Advance' : undefined}
      buttons={<Button label="Next attempt" hotkey="n" onClick={() => act(() => moveClock({ next: true }))} />}
      onSubmit={() => moveClock({ advance: values.by }).then(() => false)}
    >
      <code>{showExact(now)}</code>
      <p>{due === null ? 'No attempt is planned.' : ['Next attempt ', <In key={0} at={due} />, '.']}</p>
      <p class="dim">
        {settings?.retryScale !== 1 && `Delays between attempts are divided by ${settings?.retryScale}. `}
        {`An attempt waits ${showDuration(settings?.deadlineMs ?? 0)} for its answer.`}
      </p>
      {clock?.isManual ? (
        <Fields shapes={CLOCK_SHAPES} values={values} onInput={setValues} />
      ) : (
        <p class="dim">
          Start with <code>--clock manual</code> to move the time yourself, or with <code>--retry-scale 600</code> to
          wait 50 ms instead of 30 s.
        </p>
      )}
    </Dialog>
  )
}
