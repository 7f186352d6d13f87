import type { ButtonHTMLAttributes, InputHTMLAttributes, JSX } from 'preact'
import { store } from '../model/store.ts'

interface ButtonOptions extends ButtonHTMLAttributes {
  readonly label: string
  /** The key of the keyboard that does the same. */
  readonly hotkey?: string | undefined
}

/** A button that submits no form unless its type is `submit`. */
export function Button({ label, hotkey, ...attributes }: ButtonOptions): JSX.Element {
  return (
    <button type="button" data-hotkey={hotkey} {...attributes}>
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

/** A button that asks before it deletes. */
export function Confirm({ label, ...question }: ConfirmOptions): JSX.Element {
  return <Button class="danger" label={label} onClick={() => store.set({ dialog: { kind: 'ask', ...question } })} />
}

type Attributes = Pick<InputHTMLAttributes, 'class' | 'placeholder' | 'pattern' | 'size' | 'autofocus'>

interface FieldShape extends Attributes {
  readonly label: string
  /** Values to choose from, each with its text if that differs. */
  readonly options?: readonly (string | readonly [value: string, text: string])[]
  /** Proposed values. */
  readonly list?: readonly string[]
  /** Height of a field for several lines. */
  readonly rows?: number
  /** Text after the field. */
  readonly after?: string
  readonly min?: number
  readonly max?: number
}

type Value = string | number | boolean

interface FieldOptions<T> extends FieldShape {
  readonly value: T
  readonly onInput: (value: T) => void
}

/** A field for a line of text, several lines, one of several values, a whole number, or a tick. Its value says which. */
export function Field<T extends Value>({ label, after, class: name, onInput, ...shape }: FieldOptions<T>): JSX.Element {
  const { value, options, list, rows, min = 1, max = 1_000, ...attributes } = shape
  const set = ({ currentTarget }: { readonly currentTarget: HTMLElement }) => {
    const { value: text, checked } = currentTarget as HTMLInputElement // each of the elements below has a value
    const number = Math.min(max, Math.max(min, Number(text) || min))
    onInput((typeof value === 'boolean' ? checked : typeof value === 'number' ? number : text) as T) // of the type of the old value
  }
  const choices = (options ?? list)?.map((option) => {
    const [each, text = each] = [option].flat()
    return (
      <option key={each} value={each}>
        {text}
      </option>
    )
  })
  const common = {
    ...attributes,
    value: `${value}`,
    spellcheck: false,
    autocomplete: 'off',
    class: 'mono',
    onInput: set,
  } as const
  if (typeof value === 'boolean')
    return (
      <label class={name}>
        <input type="checkbox" checked={value} onChange={set} /> {label}
      </label>
    )
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: each branch below is a control
    <label class={rows === undefined ? name : 'field'}>
      {label}{' '}
      {options !== undefined ? (
        <select value={value} onChange={set}>
          {choices}
        </select>
      ) : rows !== undefined ? (
        <textarea rows={rows} {...common} />
      ) : typeof value === 'number' ? (
        <input type="number" {...{ min, max, value }} onInput={set} />
      ) : (
        <input type="text" list={list && `list-${label}`} {...common} />
      )}{' '}
      {after}
      {list !== undefined && <datalist id={`list-${label}`}>{choices}</datalist>}
    </label>
  )
}

interface FieldsOptions<V> {
  /** Shapes of the values that have a field. */
  readonly shapes: { readonly [Name in keyof V]?: FieldShape }
  readonly values: V
  readonly onInput: (values: V) => void
}

/** The fields of a form, in the order of their shapes. */
export function Fields<V extends Readonly<Record<keyof V, Value>>>(options: FieldsOptions<V>): JSX.Element {
  const { shapes, values, onInput } = options
  const named = Object.entries(shapes) as [keyof V & string, FieldShape][] // shapes of the values
  return (
    <div class="fields">
      {named.map(([name, shape]) => (
        <Field<Value>
          key={name}
          {...shape}
          value={values[name]}
          onInput={(value) => onInput({ ...values, [name]: value })}
        />
      ))}
    </div>
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
