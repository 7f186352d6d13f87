import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
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

interface TickOptions {
  readonly choice: Ticks
  readonly id: string
  readonly name: string
}

/** The checkbox of a row. */
export function Tick({ choice, id, name }: TickOptions): JSX.Element {
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
  /** Called with the ticked rows, which are unticked afterwards. */
  readonly onRun: (selected: readonly Row[]) => void
}

/** Buttons that tick all rows or none, and run an action on the ticked ones. */
export function ChoiceButtons<Row>({ verb, rows, keyOf, choice, onRun }: ChoiceButtonsOptions<Row>): JSX.Element {
  const selected = rows.filter((row) => choice.chosen.has(keyOf(row)))
  const isPartial = selected.length < rows.length
  const number = selected.length === 0 ? '' : `${selected.length.toLocaleString('en')} `
  const run = () => {
    onRun(selected)
    choice.choose(rows.map(keyOf), false)
  }
  return (
    <>
      <Button
        label={isPartial ? 'Select all' : 'Select none'}
        onClick={() => choice.choose(rows.map(keyOf), isPartial)}
      />
      <Button class="main" label={`${verb} ${number}selected`} disabled={number === ''} onClick={run} />
    </>
  )
}
