import type { JSX } from 'preact'
import { go, readAddress } from '../model/address.ts'
import { readWord, writeWord } from '../model/filter.ts'
import { showFailed } from '../model/keys.ts'
import { remember, store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { Button } from './fields.tsx'

const listTypes = remember(
  () => [store.rows.version],
  () => [...new Set(store.rows.all.map(({ type }) => type))].sort(),
)
/** The types as one text, which changes only if there is another type. */
const typesText = () => JSON.stringify(listTypes())

/** Filters that take one click: failed, retrying, a type, a webhook, an account. */
export function FilterBar(): JSX.Element {
  const { query, isGrouped } = useStore(readAddress)
  const types: readonly string[] = JSON.parse(useStore(typesText))
  const { webhooks = [], accounts = [] } = useStore(() => store.state) ?? {}
  const status = readWord(query, 'status')
  const set = (key: string, value: string | undefined) => go({ query: writeWord(query, key, value) })
  return (
    <div class="bar filters">
      <Button
        label="Failed"
        aria-pressed={status === 'failed' && !isGrouped}
        title="f"
        onClick={() => showFailed(false)}
      />
      <Button
        label="By cause"
        aria-pressed={status === 'failed' && isGrouped}
        title="g"
        onClick={() => showFailed(true)}
      />
      <Button
        label="Retrying"
        aria-pressed={status === 'retrying'}
        onClick={() =>
          go({ query: writeWord(query, 'status', status === 'retrying' ? undefined : 'retrying'), isGrouped: false })
        }
      />
      <Pick name="type" query={query} options={types.map((type) => [type, escapeHidden(type)])} onPick={set} />
      {webhooks.length > 1 && (
        <Pick name="webhook" query={query} options={webhooks.map(({ id, url }) => [id, url])} onPick={set} />
      )}
      {accounts.length > 1 && (
        <Pick name="account" query={query} options={accounts.map(({ key }) => [key, key])} onPick={set} />
      )}
    </div>
  )
}

interface PickOptions {
  readonly name: string
  readonly query: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly onPick: (name: string, value: string | undefined) => void
}

/** A choice of one value of a key of the filter. */
function Pick({ name, query, options, onPick }: PickOptions): JSX.Element {
  const value = readWord(query, name) ?? ''
  const isListed = value === '' || options.some(([each]) => each === value)
  return (
    <select
      aria-label={`Filter by ${name}`}
      class={value === '' ? undefined : 'chosen'}
      value={value}
      onChange={(event) => onPick(name, event.currentTarget.value || undefined)}
    >
      <option value="">any {name}</option>
      {!isListed && <option value={value}>{value}</option>}
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  )
}
