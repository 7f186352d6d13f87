import {
  type ButtonHTMLAttributes,
  type ComponentChildren,
  createContext,
  type InputHTMLAttributes,
  type JSX,
} from 'preact'
import { useContext, useId, useRef, useState } from 'preact/hooks'
import { restoreBreaks } from '../text/edit-body.ts'

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

interface MenuOptions {
  readonly label?: string
  /** Name for screen readers, if there is no label. */
  readonly name?: string
  readonly children: ComponentChildren
}

/** Buttons that a click on the label shows. */
export function Menu({ label, name, children }: MenuOptions): JSX.Element {
  return (
    <details class="menu">
      <summary aria-label={name}>{label}</summary>
      <div class="items">{children}</div>
    </details>
  )
}

/** Closes open menus after a click on one of their items, or anywhere else on the page. A menu that had the focus keeps it. */
export function closeMenus(): void {
  document.addEventListener('click', ({ target }) => {
    for (const menu of document.querySelectorAll<HTMLDetailsElement>('.menu[open]')) {
      const summary = menu.querySelector('summary')
      if (target instanceof Element && target.closest('summary') === summary) continue
      const hadFocus = menu.contains(document.activeElement)
      menu.open = false
      if (hadFocus) summary?.focus()
    }
  })
}

type Attributes = Pick<InputHTMLAttributes, 'class' | 'placeholder' | 'pattern' | 'size' | 'autofocus' | 'step'>

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
  /** The problem with its value. */
  readonly problem?: ComponentChildren
}

type Value = string | number | boolean

interface FieldOptions<T> extends FieldShape {
  readonly value: T
  readonly onInput: (value: T) => void
}

/** A field for a line of text, several lines, one of several values, a number, or a tick. Its value says which. */
export function Field<T extends Value>(field: FieldOptions<T>): JSX.Element {
  const { label, after, class: name, problem, value, rows, onInput } = field
  const id = useId()
  if (typeof value === 'boolean') {
    const set = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onInput(currentTarget.checked as T) // the value is a boolean
    return (
      <label class={name}>
        <input type="checkbox" checked={value} onChange={set} /> {label}
      </label>
    )
  }
  return (
    <div class={rows === undefined ? name : 'field'}>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: it has one */}
      <label>
        {label} <Control {...field} id={id} /> {after}
      </label>
      {field.list !== undefined && <datalist id={`${id}-list`}>{listChoices(field.list)}</datalist>}
      {problem && (
        <p class="problem" role="alert" id={id}>
          ✕ {problem}
        </p>
      )}
    </div>
  )
}

/** @param field with the id of its problem */
function Control<T extends Value>(field: FieldOptions<T> & { readonly id: string }): JSX.Element {
  const {
    label: _label,
    after: _after,
    class: _class,
    problem,
    onInput,
    value,
    options,
    list,
    rows,
    id,
    ...more
  } = field
  const { min = 1, max = 1_000, ...others } = more
  const source = useRef(`${value}`) // the last text that was not typed, for its line breaks
  const set = ({ currentTarget }: { readonly currentTarget: HTMLElement }) => {
    const { value: text } = currentTarget as HTMLInputElement // each of the elements below has a value
    onInput(restoreBreaks(text, source.current) as T) // the value is a text
  }
  // A number is judged when its field is left: while it is typed, its first digit may be too small.
  const [typed, setTyped] = useState<string>()
  const setNumber = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    const number = Math.min(max, Math.max(min, Number(currentTarget.value) || min))
    currentTarget.value = String(number)
    setTyped(undefined)
    onInput(number as T) // the value is a number
  }
  const paste = ({ clipboardData }: ClipboardEvent) => {
    source.current = clipboardData?.getData('text/plain') ?? ''
  }
  const told = problem ? { 'aria-invalid': true, 'aria-describedby': id } : {}
  const text = { ...others, ...told, spellcheck: false, autocomplete: 'off', class: 'mono', onInput: set } as const
  const shown = `${value}`.replace(/\r\n?/g, '\n')
  if (options !== undefined)
    return (
      <select value={shown} {...told} onChange={set}>
        {listChoices(options)}
      </select>
    )
  if (rows !== undefined) return <textarea rows={rows} {...text} value={shown} onPaste={paste} />
  if (typeof value === 'number')
    return (
      <input
        type="number"
        {...{ min, max, value: typed ?? value, ...others, ...told }}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={setNumber}
      />
    )
  return <input type="text" list={list && `${id}-list`} {...text} value={shown} />
}

/** The values to choose from, each with its text. */
function listChoices(choices: FieldShape['options']): readonly JSX.Element[] | undefined {
  return choices?.map((choice) => {
    const [each, text = each] = [choice].flat()
    return (
      <option key={each} value={each}>
        {text}
      </option>
    )
  })
}

/** The error of the last submission of a form. */
export const FormError = createContext<string | undefined>(undefined)

interface FieldsOptions<V> {
  /** Shapes of the values that have a field. */
  readonly shapes: { readonly [Name in keyof V]?: FieldShape }
  readonly values: V
  readonly onInput: (values: V) => void
}

/** The fields of a form, in the order of their shapes. The error of a submission stands at the field that it names, or after all. */
export function Fields<V extends Readonly<Record<keyof V, Value>>>(options: FieldsOptions<V>): JSX.Element {
  const { shapes, values, onInput } = options
  const error = useContext(FormError)
  const named = Object.entries(shapes) as [keyof V & string, FieldShape][] // shapes of the values
  const guilty = named.find(([name]) => error !== undefined && new RegExp(`^${name}\\b`).test(error))?.[0]
  return (
    <div class="fields">
      {named.map(([name, shape]) => (
        <Field<Value>
          key={name}
          {...shape}
          problem={shape.problem ?? (name === guilty && error)}
          value={values[name]}
          onInput={(value) => onInput({ ...values, [name]: value })}
        />
      ))}
      {error !== undefined && guilty === undefined && (
        <p class="problem field" role="alert">
          ✕ {error}
        </p>
      )}
    </div>
  )
}

interface SwitchOptions<T extends string> {
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly value: string
  readonly onInput: (value: T) => void
  readonly hotkeys?: Readonly<Record<string, string>>
}

/** Buttons in a row, one of which is pressed. */
export function Switch<T extends string>({ options, value, onInput, hotkeys }: SwitchOptions<T>): JSX.Element {
  return (
    <span class="switch">
      {options.map(([name, text]) => (
        <Button
          key={name}
          label={text}
          hotkey={hotkeys?.[name]}
          aria-pressed={value === name}
          onClick={() => onInput(name)}
        />
      ))}
    </span>
  )
}
