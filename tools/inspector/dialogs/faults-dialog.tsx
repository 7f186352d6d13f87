import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { EmulatorState } from '../../emulator/contract.ts'
import { act, change } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { Button, Fields } from '../parts/fields.tsx'
import { Dialog } from './dialog.tsx'

const SHAPES = {
  fail: { label: 'Lost before they are sent, in %', min: 0, max: 100, autofocus: true },
  duplicate: { label: 'Sent twice, in %', min: 0, max: 100 },
  latency: { label: 'Latency, in ms', placeholder: '50-500' },
  shuffle: { label: 'in any order' },
}
const API_SHAPES = {
  count: { label: 'Calls of the API' },
  answer: { label: 'get', options: ['401', '429', '500', 'slow', 'reset'] },
}

/** The faults of deliveries and of the API. */
export function FaultsDialog(): JSX.Element {
  const faults = store.state?.faults
  return faults === undefined ? <Dialog title="Faults">Loading</Dialog> : <FaultsForm faults={faults} />
}

/** A share as percent, exactly: 0.004 is 0.4. */
export function toPercent(share: number): number {
  return Number((share * 100).toPrecision(12))
}

function FaultsForm({ faults: { deliveries, answers } }: { readonly faults: EmulatorState['faults'] }): JSX.Element {
  const [values, setValues] = useState({
    fail: toPercent(deliveries.fail),
    duplicate: toPercent(deliveries.duplicate),
    shuffle: deliveries.shuffle,
    latency: deliveries.latencyMs?.join('-') ?? '',
  })
  const [api, setApi] = useState({ count: 1, answer: '429' })
  const set = () => {
    const { fail, duplicate, latency, shuffle } = values
    const [from = '', to = from] = latency.split('-')
    const shares = { fail: fail / 100, duplicate: duplicate / 100 }
    const wanted = { ...shares, shuffle, ...(latency !== '' && { latency: [Number(from), Number(to)] }) }
    return change('POST faults', { deliveries: wanted }, 'faults set')
  }
  const reset = () => change('DELETE faults', undefined, 'faults reset to those at the start')
  return (
    <Dialog
      title="Faults of deliveries"
      verb="Set"
      buttons={<Button label="Reset all to those at the start" onClick={() => act(reset)} />}
      onSubmit={set}
    >
      <Fields shapes={SHAPES} values={values} onInput={setValues} />
      <h2>Faults of the API</h2>
      <Fields shapes={API_SHAPES} values={api} onInput={setApi} />
      <Button label="Add" onClick={() => act(() => change('POST faults', api))} />
      {answers.length > 0 && <p>To come: {answers.map(({ count, answer }) => `${count} × ${answer}`).join(', ')}.</p>}
    </Dialog>
  )
}
