import type { ButtonHTMLAttributes, JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'

interface ButtonOptions extends ButtonHTMLAttributes {
  readonly label: string
  /** The key of the keyboard that does the same. */
  readonly hotkey?: string
}

/** A button that submits no form unless its type is `submit`. */
export function Button({ label, hotkey, ...attributes }: ButtonOptions): JSX.Element {
  return (
    <button type="button" {...attributes}>
      {label}
      {hotkey !== undefined && (
        <span class="kbd" aria-hidden="true">
          {hotkey}
        </span>
      )}
    </button>
  )
}

interface ConfirmOptions {
  readonly label: string
  readonly question: string
  readonly verb: string
  readonly onYes: () => Promise<unknown>
}

/** A button that asks before it acts. */
export function Confirm({ label, question, verb, onYes }: ConfirmOptions): JSX.Element {
  const [isAsked, setAsked] = useState(false)
  const box = useRef<HTMLSpanElement>(null)
  const run = async (click: MouseEvent) => {
    if (click.detail > 1) return // the second click of a double click
    await onYes()
    // The pressed button goes, and the focus would go with it.
    if (box.current?.contains(document.activeElement))
      box.current.querySelector<HTMLElement>('button:last-child')?.focus()
    setAsked(false)
  }
  return (
    <span class="bar" ref={box}>
      {isAsked && (
        <>
          {question}
          <Button class="danger" label={verb} onClick={run} />
        </>
      )}
      <Button
        class={isAsked ? '' : 'plain delete'}
        label={isAsked ? 'Keep' : label}
        onClick={() => setAsked(!isAsked)}
      />
    </span>
  )
}

interface InputOptions<T> {
  readonly label: string
  readonly value: T
  readonly onInput: (value: T) => void
  /** Text after the field. */
  readonly after?: string
}

interface TextOptions extends InputOptions<string> {
  readonly class?: string
  readonly size?: number
  readonly autofocus?: boolean
  readonly list?: string
  readonly pattern?: string
  readonly placeholder?: string
}

/** A field for a line of text. Of the class `field`, it is as wide as the form. */
export function TextField({ label, after, onInput, class: name, ...attributes }: TextOptions): JSX.Element {
  return (
    <label class={name}>
      {label}{' '}
      <input
        type="text"
        class="mono"
        spellcheck={false}
        autocomplete="off"
        {...attributes}
        onInput={(event) => onInput(event.currentTarget.value)}
      />{' '}
      {after}
    </label>
  )
}

interface NumberOptions extends InputOptions<number> {
  readonly min?: number
  readonly max?: number
}

/** A field for a whole number. */
export function NumberField({ label, after, onInput, min = 1, max = 1_000, value }: NumberOptions): JSX.Element {
  const read = (text: string) => Math.min(max, Math.max(min, Number(text) || min))
  return (
    <label>
      {label}{' '}
      <input type="number" {...{ min, max, value }} onInput={(event) => onInput(read(event.currentTarget.value))} />{' '}
      {after}
    </label>
  )
}

/** A box to tick. */
export function Check({ label, value, onInput }: InputOptions<boolean>): JSX.Element {
  return (
    <label>
      <input type="checkbox" checked={value} onChange={(event) => onInput(event.currentTarget.checked)} /> {label}
    </label>
  )
}

interface ChoiceOptions extends InputOptions<string> {
  /** Values, each with its text if that differs. */
  readonly options: readonly (string | readonly [value: string, text: string])[]
}

/** A field to choose one of several values. */
export function Choice({ label, options, value, onInput }: ChoiceOptions): JSX.Element {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={(event) => onInput(event.currentTarget.value)}>
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

interface SwitchOptions<T> {
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly value: T
  readonly onInput: (value: T) => void
}

/** Buttons in a row, one of which is pressed. */
export function Switch<T extends string>({ options, value, onInput }: SwitchOptions<T>): JSX.Element {
  return (
    <span class="switch">
      {options.map(([name, text]) => (
        <Button key={name} label={text} aria-pressed={value === name} onClick={() => onInput(name)} />
      ))}
    </span>
  )
}

interface EditorOptions {
  readonly label: string
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
