import type { JSX } from 'preact'
import { go, readAddress } from '../model/address.ts'
import { completeWord, readWord, writeWord } from '../model/filter.ts'
import { countBars, countResults } from '../model/list.ts'
import { remember, store, useStore } from '../model/store.ts'
import { escapeHidden } from '../text/bytes.ts'
import { showExact } from '../text/times.ts'
import { Button } from './fields.tsx'
import { useTime } from './small.tsx'

const listTypes = remember(
  () => [store.rows.version],
  () => JSON.stringify([...new Set(store.rows.all.map(({ type }) => type))].sort()),
)

/** The values that a filter proposes. The types change only if there is another one. */
const listValues = remember(
  () => [listTypes(), store.state],
  () => {
    const { webhooks = [], accounts = [] } = store.state ?? {}
    const type: readonly string[] = JSON.parse(listTypes())
    return { type, webhook: [...new Set(webhooks.map(({ url }) => url))], account: accounts.map(({ key }) => key) }
  },
)

/** The field for the filter. It completes the last word, and is marked if a word means nothing. */
export function FilterField({ isValid }: { readonly isValid: boolean }): JSX.Element {
  const { query } = useStore(readAddress)
  const values = useStore(listValues)
  return (
    <>
      <input
        id="filter"
        type="search"
        value={query}
        placeholder="Filter"
        aria-label="Filter"
        aria-invalid={!isValid}
        list="words"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => go({ query: event.currentTarget.value }, false)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' && event.key !== 'Enter') return
          event.preventDefault() // Chromium would empty the field on Esc
          event.currentTarget.blur()
        }}
      />
      <datalist id="words">
        {completeWord(query, values).map((text) => (
          <option key={text} value={text} />
        ))}
      </datalist>
    </>
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
    <div class="filters">
      <div class="bar">
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
      <Chart />
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

/** Deliveries a minute by result, drawn again each second. A click on a bar filters by its time, and a second click no longer. */
function Chart(): JSX.Element {
  useTime((now) => Math.floor(now / 1_000), true)
  const { query } = useStore(readAddress)
  const isUtc = useStore(() => store.isUtc)
  const { stepMs, bars } = countBars()
  const most = Math.max(
    1,
    ...bars.map(({ success, pending, retrying, failed }) => success + pending + retrying + failed),
  )
  const write = (at: number) => showExact(new Date(at).toISOString(), isUtc).slice(0, 16).replace(' ', 'T')
  return (
    <div class="chart">
      {bars.map(({ at, ...counts }) => {
        const since = write(at)
        const isOn = readWord(query, 'since') === since
        const next = writeWord(query, 'since', isOn ? undefined : since)
        const parts = (['success', 'pending', 'retrying', 'failed'] as const).filter((status) => counts[status] > 0)
        const title = `${since.replace('T', ' ')}: ${parts.map((status) => `${counts[status]} ${status}`).join(', ')}`
        return (
          <button
            key={at}
            type="button"
            {...{ title, 'aria-label': title, 'aria-pressed': isOn, disabled: parts.length === 0 && !isOn }}
            onClick={() => go({ query: writeWord(next, 'until', isOn ? undefined : write(at + stepMs)) })}
          >
            {parts.map((status) => (
              <i key={status} class={status} style={{ height: `${(100 * counts[status]) / most}%` }} />
            ))}
          </button>
        )
      })}
      <small>{`${stepMs / 60_000} min a bar, peak ${most.toLocaleString('en')}`}</small>
    </div>
  )
}
