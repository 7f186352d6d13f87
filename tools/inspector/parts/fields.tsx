import { type ButtonHTMLAttributes, type ComponentChildren, createContext, type InputHTMLAttributes } from 'preact'
import { useContext, useId, useRef } from 'preact/hooks'
import { restoreBreaks } from '../text/edit-body.ts'

interface ButtonOptions extends ButtonHTMLAttributes {
  readonly label: string
  readonly hotkey?: string | undefined
}

export function Button({ label, hotkey, ...attributes }: ButtonOptions) {
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

type Value = string | number | boolean

interface FieldShape extends Pick<InputHTMLAttributes, 'placeholder' | 'autofocus'> {
  readonly label: string
  readonly options?: readonly (string | readonly [value: string, text: string])[]
  readonly list?: readonly string[]
  readonly rows?: number
  readonly min?: number
  readonly max?: number
  readonly problem?: ComponentChildren
}

interface FieldOptions<T> extends FieldShape {
  readonly value: T
  readonly onInput: (value: T) => void
}

type Changed = { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement }

/** A field for a line of text, several lines, one of several values, a number, or a tick. Its value says which. */
export function Field<T extends Value>(field: FieldOptions<T>) {
  const { label, problem, value, options, list, rows, min = 1, max = 1_000, onInput, ...more } = field
  const id = useId()
  const source = useRef(`${value}`) // the last text that was not typed, for its line breaks
  const put = (next: Value) => onInput(next as T) // of the kind of the value
  const shown = `${value}`.replace(/\r\n?/g, '\n')
  const told = { 'aria-invalid': problem ? true : undefined, 'aria-describedby': problem ? id : undefined }
  const text = {
    ...{ ...more, ...told, value: shown, class: 'mono', spellcheck: false, autocomplete: 'off' },
    onInput: ({ currentTarget }: Changed) => put(restoreBreaks(currentTarget.value, source.current)),
    onPaste: ({ clipboardData }: ClipboardEvent) => {
      source.current = clipboardData?.getData('text/plain') ?? ''
    },
  } as const
  const number = { min, max, ...more, ...told }
  // A number is judged when its field is left: while it is typed, its first digit may be too small.
  const setNumber = ({ currentTarget }: Changed) => {
    const within = Math.min(max, Math.max(min, Number(currentTarget.value) || min))
    currentTarget.value = String(within)
    put(within)
  }
  return (
    <div class={typeof value === 'number' || options !== undefined ? 'field' : 'field whole'}>
      {/* biome-ignore lint/a11y/noLabelWithoutControl: it has one */}
      <label class={typeof value === 'boolean' ? 'tick' : undefined}>
        {label}{' '}
        {options !== undefined ? (
          <select value={shown} {...told} onChange={({ currentTarget }) => put(currentTarget.value)}>
            {listChoices(options)}
          </select>
        ) : typeof value === 'boolean' ? (
          <input type="checkbox" checked={value} onChange={({ currentTarget }) => put(currentTarget.checked)} />
        ) : typeof value === 'number' ? (
          <input type="number" step="any" defaultValue={shown} {...number} onChange={setNumber} />
        ) : rows === undefined ? (
          <input type="text" list={list && `${id}-list`} {...text} />
        ) : (
          <textarea rows={rows} {...text} />
        )}
      </label>
      {list !== undefined && <datalist id={`${id}-list`}>{listChoices(list)}</datalist>}
      {problem && <Problem id={id}>{problem}</Problem>}
    </div>
  )
}

function listChoices(choices: readonly (string | readonly [value: string, text: string])[]) {
  const pairs = choices.map((choice) => [choice].flat())
  return pairs.map(([each, text = each]) => (
    <option key={each} value={each}>
      {text}
    </option>
  ))
}

function Problem({ id, children }: { readonly id?: string; readonly children: ComponentChildren }) {
  return (
    <p class="problem" role="alert" id={id}>
      ✕ {children}
    </p>
  )
}

export const FormError = createContext('')

interface FieldsOptions<V> {
  readonly shapes: { readonly [Name in keyof V]?: FieldShape }
  readonly values: V
  readonly onInput: (values: V) => void
}

/** The fields of a form, in the order of their shapes. The error of a submission stands at the field that it names, or after all. */
export function Fields<V extends Readonly<Record<keyof V, Value>>>(options: FieldsOptions<V>) {
  const { shapes, values, onInput } = options
  const error = useContext(FormError)
  const [named] = /^\w+/.exec(error) ?? []
  const entries = Object.entries(shapes) as [keyof V & string, FieldShape][] // shapes of the values
  return (
    <div class="fields">
      {entries.map(([name, shape]) => (
        <Field<Value>
          key={name}
          {...shape}
          problem={shape.problem ?? (name === named && error)}
          value={values[name]}
          onInput={(value) => onInput({ ...values, [name]: value })}
        />
      ))}
      {error !== '' && !Object.hasOwn(shapes, named ?? '') && <Problem>{error}</Problem>}
    </div>
  )
}

interface SwitchOptions<T extends string> {
  readonly options: readonly (readonly [value: T, text: string])[]
  readonly value: string
  readonly onInput: (value: T) => void
  readonly hotkeys?: Readonly<Record<string, string>>
}

export function Switch<T extends string>({ options, value, onInput, hotkeys }: SwitchOptions<T>) {
  return (
    <span class="switch line">
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
