import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { showDuration } from '../../../src/host/duration.ts'
import { act, moveClock } from '../model/actions.ts'
import { store, useStore } from '../model/store.ts'
import { Button, Fields } from '../parts/fields.tsx'
import { At, In, useTime } from '../parts/small.tsx'
import { Dialog } from './dialog.tsx'

const STEPS = ['30s', '5m', '30m', '2h']
const SHAPES = { by: { label: 'Advance by', size: 9, autofocus: true } }

/** The emulator's clock, and the buttons that move a manual one. */
export function ClockDialog(): JSX.Element {
  const now = useTime((time) => new Date(Math.floor(time / 1_000) * 1_000).toISOString())
  const { clock, settings } = useStore(() => store.state) ?? {}
  const [values, setValues] = useState({ by: '10s' })
  const due = clock?.nextDueAt ?? null
  return (
    <Dialog
      title={clock?.isManual ? 'Manual clock' : 'The machine’s clock'}
      verb={clock?.isManual ? 'Advance' : undefined}
      onSubmit={() => moveClock({ advance: values.by }).then(() => false)}
    >
      <code>
        <At at={now} />
      </code>
      <p>
        {due === null ? 'No attempt is planned' : 'Next attempt '}
        {due !== null && <In at={due} />}.
      </p>
      <p class="dim">
        {settings?.retryScale !== 1 && `Delays between attempts are divided by ${settings?.retryScale}. `}
        {`An attempt waits ${showDuration(settings?.deadlineMs ?? 0)} for its answer.`}
      </p>
      {clock?.isManual ? (
        <>
          <div class="bar">
            <Button label="Next attempt" hotkey="n" onClick={() => act(() => moveClock({ next: true }))} />
            {STEPS.map((step) => (
              <Button key={step} label={`+ ${step}`} onClick={() => act(() => moveClock({ advance: step }))} />
            ))}
          </div>
          <Fields shapes={SHAPES} values={values} onInput={setValues} />
        </>
      ) : (
        <p class="dim">
          Start with <code>--clock manual</code> to move the time yourself, or with <code>--retry-scale 600</code> to
          wait 50 ms instead of 30 s.
        </p>
      )}
    </Dialog>
  )
}
