import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { showDuration } from '../../../src/host/duration.ts'
import { act, moveClock } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { Button, Fields } from '../parts/fields.tsx'
import { In } from '../parts/small.tsx'
import { showExact } from '../text/times.ts'
import { Dialog } from './dialog.tsx'

const SHAPES = { by: { label: 'Advance by', list: ['30s', '5m', '30m', '2h'], autofocus: true } }

/** Shows the emulator's clock, and moves a manual one. */
export function ClockDialog(): JSX.Element {
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
      <p>
        {due === null ? 'No attempt is planned' : 'Next attempt '}
        {due !== null && <In at={due} />}.
      </p>
      <p class="dim">
        {settings?.retryScale !== 1 && `Delays between attempts are divided by ${settings?.retryScale}. `}
        {`An attempt waits ${showDuration(settings?.deadlineMs ?? 0)} for its answer.`}
      </p>
      {clock?.isManual ? (
        <Fields shapes={SHAPES} values={values} onInput={setValues} />
      ) : (
        <p class="dim">
          Start with <code>--clock manual</code> to move the time yourself, or with <code>--retry-scale 600</code> to
          wait 50 ms instead of 30 s.
        </p>
      )}
    </Dialog>
  )
}
