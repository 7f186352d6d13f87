import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

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
    for (const key of keys)
      if (isChosen) next.add(key)
      else next.delete(key)
    setChosen(next)
  }
  return { chosen, choose }
}

interface ChoiceButtonsOptions<Row> {
  readonly verb: string
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly choice: Ticks
  /** Called with the ticked rows, which are unticked afterwards. */
  readonly onRun: (selected: readonly Row[]) => void
}

/** Buttons that tick all rows or none, and run an action on the ticked ones. */
export function ChoiceButtons<Row>({ verb, rows, keyOf, choice, onRun }: ChoiceButtonsOptions<Row>): JSX.Element {
  const selected = rows.filter((row) => choice.chosen.has(keyOf(row)))
  const isPartial = selected.length < rows.length
  return (
    <>
      <button type="button" onClick={() => choice.choose(rows.map(keyOf), isPartial)}>
        {isPartial ? 'Select all' : 'Select none'}
      </button>
      <button
        type="button"
        class="main"
        disabled={selected.length === 0}
        onClick={() => {
          onRun(selected)
          choice.choose(rows.map(keyOf), false)
        }}
      >
        {verb} {selected.length > 0 && selected.length.toLocaleString('en')} selected
      </button>
    </>
  )
}
