import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCall } from '../detail/use-detail.ts'
import { page } from '../model/page-model.ts'
import type { AssumptionShape } from '../shapes.ts'

/** Assumptions about what the service's documents leave open. */
export function Assumptions(): JSX.Element {
  const { value = [], error } = useCall<readonly AssumptionShape[]>('GET assumptions', page.state?.bootId ?? '')
  const [areAll, setAll] = useState(true)
  const changed = value.filter(({ isDefault }) => !isDefault)
  const shown = areAll ? value : changed
  return (
    <div class="page">
      <div class="bar">
        <h1>Assumptions</h1>
        <span class="push" />
        <label>
          <input type="checkbox" checked={!areAll} onChange={(event) => setAll(!event.currentTarget.checked)} /> only
          the {changed.length} that differ from the default
        </label>
      </div>
      <p class="dim">
        The service's documents leave these points open. The emulator assumes one answer to each. Dialect:{' '}
        {page.state?.settings.dialect}. Choose another one at the start, with <code>--dialect</code> or{' '}
        <code>--assume name=value</code>.
      </p>
      {error !== undefined && <p class="problem">{error}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls has to be reached by the keyboard */}
      <section class="scroll flat" tabIndex={0} aria-label="Assumptions">
        <table>
          <thead>
            <tr>
              <th scope="col">No.</th>
              <th scope="col">Open point</th>
              <th scope="col">Assumed</th>
              <th scope="col">Meaning</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ id, name, subject, value: assumed, meaning, isDefault }) => (
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
          </tbody>
        </table>
      </section>
    </div>
  )
}

/** Text with code between backticks. */
function Marked({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
}
