import type { JSX } from 'preact'
import { go, readAddress } from '../model/address.ts'
import { readWord, writeWord } from '../model/filter.ts'
import { countResults } from '../model/list.ts'
import { remember, store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { Button } from './fields.tsx'

/** The values to choose from. */
const listValues = remember(
  () => [store.rows.all, store.state],
  () => {
    const { webhooks = [], accounts = [] } = store.state ?? {}
    return {
      type: [...new Set(store.rows.all.map(({ type }) => type))].sort(),
      webhook: [...new Set(webhooks.map(({ url }) => url))],
      account: accounts.map(({ key }) => key),
    }
  },
)

/** The field for the filter. It is marked if a word means nothing. */
export function FilterField({ isValid }: { readonly isValid: boolean }): JSX.Element {
  const { query } = useStore(readAddress)
  return (
    <input
      id="filter"
      type="search"
      value={query}
      placeholder="Filter"
      aria-label="Filter"
      aria-invalid={!isValid}
      spellcheck={false}
      autocomplete="off"
      onInput={(event) => go({ query: event.currentTarget.value }, false)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' && event.key !== 'Enter') return
        event.preventDefault() // Chromium would empty the field on Esc
        event.currentTarget.blur()
      }}
    />
  )
}

/** Filters that take one click: failed, retrying, a type, a webhook, an account, a time. */
export function FilterBar(): JSX.Element {
  const { query, isGrouped } = useStore(readAddress)
  const values = useStore(listValues)
  const counts = useStore(countResults)
  const status = readWord(query, 'status')
  const chips = [
    ['Failed', 'failed', 'f'],
    ['Retrying', 'retrying', undefined],
  ] as const
  return (
    <div class="bar filters">
      {chips.map(([name, wanted, hotkey]) => (
        <Button
          key={name}
          label={`${name} ${counts[wanted].toLocaleString('en')}`}
          hotkey={hotkey}
          aria-pressed={status === wanted}
          onClick={() => go({ query: writeWord(query, 'status', status === wanted ? undefined : wanted) })}
        />
      ))}
      <Button label="By cause" hotkey="g" aria-pressed={isGrouped} onClick={() => go({ isGrouped: !isGrouped })} />
      <WordSelects values={values} onChoose={(next) => go({ query: next })} />
    </div>
  )
}

interface WordSelectsOptions {
  /** The known values of each key. */
  readonly values: Readonly<Record<string, readonly string[]>>
  /** Called with the filter that has the chosen value, or no longer the key. */
  readonly onChoose: (query: string) => void
}

/** A choice of one value for each key of the filter. */
export function WordSelects({ values, onChoose }: WordSelectsOptions): JSX.Element {
  const { query } = useStore(readAddress)
  return (
    <>
      {Object.entries(values).map(([key, all]) => {
        const value = readWord(query, key) ?? ''
        const known = [...new Set([...all, value])].filter(Boolean)
        const choose = (chosen: string) => onChoose(writeWord(query, key, chosen || undefined))
        return known.length < 2 && value === '' ? null : (
          <select
            key={key}
            aria-label={`Filter by ${key}`}
            value={value}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            <option value="">any {key}</option>
            {known.map((each) => (
              <option key={each} value={each}>
                {escapeHidden(each)}
              </option>
            ))}
          </select>
        )
      })}
    </>
  )
}
