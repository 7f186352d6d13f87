import type { JSX } from 'preact'
import { openTrigger } from '../dialogs/trigger-dialog.tsx'
import { go, readAddress } from '../model/address.ts'
import { nameZones, readWord, writeWord } from '../model/filter.ts'
import { countMatching } from '../model/list.ts'
import { Button, Switch } from './fields.tsx'

/** The statuses that a switch shows, on both screens and on one of them. */
const CHIPS = [
  ['', 'All'],
  ['failed', 'Failed', 'deliveries'],
  ['retrying', 'Retrying'],
  ['pending', 'Pending', 'inbox'],
  ['dead', 'Dead'],
] as const

/** The toolbar of the list: what to show, the filter, and the actions. */
export function FilterBar({ isValid }: { readonly isValid: boolean }): JSX.Element {
  const { screen, query, isGrouped } = readAddress()
  const counts = countMatching()
  const status = readWord(query, 'status') ?? ''
  const show = (wanted: string) => go({ query: writeWord(query, 'status', wanted || undefined) })
  const options = CHIPS.flatMap(([name, word, only = screen]) =>
    only === screen ? [[name, name === '' ? word : `${word} ${counts[name].toLocaleString('en')}`] as const] : [],
  )
  const isFailing = counts.failed + counts.dead > 0
  return (
    <div class="bar">
      <Switch
        options={options}
        value={status}
        onInput={(wanted) => show(wanted === status ? '' : wanted)}
        hotkeys={{ failed: 'f' }}
      />
      <div class="line">
        <input
          id="filter"
          type="search"
          value={query}
          placeholder="Filter: text, type:, code:, account:, since:10m"
          aria-label="Filter"
          aria-invalid={!isValid}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => go({ query: event.currentTarget.value }, false)}
          onBlur={() => go({ query: nameZones(readAddress().query) }, false)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape' && event.key !== 'Enter') return
            event.preventDefault() // Chromium would empty the field on Esc
            event.currentTarget.blur()
          }}
        />
        <Button label="By cause" hotkey="g" aria-pressed={isGrouped} onClick={() => go({ isGrouped: !isGrouped })} />
        {screen === 'deliveries' && (
          <Button class={isFailing ? undefined : 'main'} label="Trigger" hotkey="t" onClick={openTrigger} />
        )}
      </div>
    </div>
  )
}
