import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './fields.tsx'

/** The ticked rows, by key. */
export interface Ticks {
  readonly chosen: ReadonlySet<string>
  readonly choose: (keys: readonly string[], isChosen: boolean) => void
}

/** Remembers the ticked rows of a screen. */
export function useChoice(): Ticks {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const choose = (keys: readonly string[], isChosen: boolean) => {
    const next = new Set(chosen)
    for (const key of keys) next[isChosen ? 'add' : 'delete'](key)
    setChosen(next)
  }
  return { chosen, choose }
}

/** The checkbox of a row. */
export function Tick({ choice, id, name }: { readonly choice: Ticks; readonly id: string; readonly name: string }) {
  return (
    <input
      type="checkbox"
      checked={choice.chosen.has(id)}
      aria-label={`Select ${name}`}
      onClick={(event) => event.stopPropagation()}
      onChange={(event) => choice.choose([id], event.currentTarget.checked)}
    />
  )
}

interface ChoiceButtonsOptions<Row> {
  readonly verb: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly choice: Ticks
  /** Called with the ticked rows. Each stays ticked as long as it is in the list. */
  readonly onRun: (selected: readonly Row[]) => void
  /** Says what “all” means if there are more rows than these. */
  readonly where?: string
}

/** Buttons that tick all rows or none, and run an action on the ticked ones. */
export function ChoiceButtons<Row>(options: ChoiceButtonsOptions<Row>): JSX.Element {
  const { verb, rows, keyOf, choice, onRun, where = '' } = options
  const keys = rows.map(keyOf)
  const selected = rows.filter((row) => choice.chosen.has(keyOf(row)))
  const isPartial = selected.length < rows.length
  const number = selected.length.toLocaleString('en')
  useEffect(() => {
    if (choice.chosen.size > selected.length)
      choice.choose(
        [...choice.chosen].filter((key) => !keys.includes(key)),
        false,
      )
  }, [choice.chosen.size > selected.length])
  return (
    <>
      <Button
        label={isPartial ? `Select all ${rows.length.toLocaleString('en')}${where}` : 'Select none'}
        hotkey="X"
        onClick={() => choice.choose(keys, isPartial)}
      />
      {selected.length > 0 && <Button label={`${verb} ${number} selected`} onClick={() => onRun(selected)} />}
    </>
  )
}
