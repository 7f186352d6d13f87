import type { ComponentChildren, JSX } from 'preact'

interface TimesOptions {
  readonly label?: string
  readonly count: number
  readonly onInput: (count: number) => void
  /** Text after the number. */
  readonly children?: ComponentChildren
}

/** A field for a number of times. */
export function Times({ label = 'Times', count, onInput, children }: TimesOptions): JSX.Element {
  return (
    <label>
      {label}{' '}
      <input
        type="number"
        min={1}
        max={1000}
        value={count}
        onInput={(event) => onInput(Math.max(1, Number(event.currentTarget.value) || 1))}
      />
      {children}
    </label>
  )
}

interface ChoiceOptions {
  readonly label: string
  /** Values, each with its text if that differs. */
  readonly options: readonly (string | readonly [value: string, text: string])[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A field to choose one of several values. */
export function Choice({ label, options, value, onChange }: ChoiceOptions): JSX.Element {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => {
          const [name, text] = typeof option === 'string' ? [option, option] : option
          return (
            <option key={name} value={name}>
              {text}
            </option>
          )
        })}
      </select>
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

/** A large field for text, such as JSON. */
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
