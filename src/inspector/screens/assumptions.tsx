import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AssumptionShape } from '../../emulator/contract.ts'
import { useCall } from '../detail/use-detail.ts'
import { store, useStore } from '../model/store.ts'
import { Check } from '../parts/fields.tsx'
import { FlatTable, Problem } from '../parts/small.tsx'

/** Assumptions about what the service's documents leave open. */
export function Assumptions(): JSX.Element {
  const { value = [], error } = useCall<readonly AssumptionShape[]>(
    'GET assumptions',
    useStore(() => store.state?.bootId ?? ''),
  )
  const [areFew, setFew] = useState(false)
  const changed = value.filter(({ isDefault }) => !isDefault)
  return (
    <>
      <div class="bar">
        <Check label={`only the ${changed.length} that differ from the default`} value={areFew} onInput={setFew} />
      </div>
      <p class="dim">
        The service's documents leave these points open. The emulator assumes one answer to each. Dialect:{' '}
        {store.state?.settings.dialect}. Choose another one at the start, with <code>--dialect</code> or{' '}
        <code>--assume name=value</code>.
      </p>
      <Problem text={error} />
      <FlatTable name="All assumptions" columns={[['No.'], ['Open point'], ['Assumed'], ['Meaning']]}>
        {(areFew ? changed : value).map(({ id, name, subject, value: assumed, meaning, isDefault }) => (
          <tr key={id}>
            <td>{id}</td>
            <td>
              <Marked text={subject} /> <code class="dim">{name}</code>
            </td>
            <td>
              <code>{assumed}</code>
              {!isDefault && <span class="tag">changed</span>}
            </td>
            <td>
              <Marked text={meaning} />
            </td>
          </tr>
        ))}
      </FlatTable>
    </>
  )
}

/** Text with code between backticks. */
function Marked({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
}
