import type { JSX } from 'preact'

interface TimesOptions {
  readonly count: number
  readonly onInput: (count: number) => void
}

/** How often something is sent. */
export function Times({ count, onInput }: TimesOptions): JSX.Element {
  return (
    <label>
      Times{' '}
      <input
        type="number"
        min={1}
        max={1000}
        value={count}
        onInput={(event) => onInput(Math.max(1, Number(event.currentTarget.value) || 1))}
      />
    </label>
  )
}

interface EditorOptions {
  readonly label: JSX.Element | string
  readonly text: string
  readonly rows: number
  readonly hasFocus?: boolean
  readonly onInput: (text: string) => void
}

/** A large field for JSON. */
export function Editor({ label, text, rows, hasFocus = false, onInput }: EditorOptions): JSX.Element {
  return (
    <label class="field">
      {label}
      <textarea
        autofocus={hasFocus}
        class="mono"
        rows={rows}
        value={text}
        spellcheck={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  )
}
