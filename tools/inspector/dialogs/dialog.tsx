import type { ComponentChildren, TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { describeError } from '../model/api.ts'
import { store } from '../model/store.ts'
import { Button, Fields, FormError } from '../parts/fields.tsx'

interface DialogOptions {
  readonly title: string
  readonly children: ComponentChildren
  readonly verb?: string | undefined
  readonly disabled?: boolean
  readonly isDangerous?: boolean | undefined
  readonly buttons?: ComponentChildren
  /** Runs on Ctrl+Enter, and on the form's button, but not again before it has ended. Closes the dialog, unless it resolves with false or rejects: the error is shown. */
  readonly onSubmit?: () => Promise<unknown> | unknown
}

export function Dialog({ title, children, verb, disabled = false, isDangerous, buttons, onSubmit }: DialogOptions) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState('')
  useModal(dialog)
  const isBusy = useRef(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy.current || disabled) return
    isBusy.current = true
    setError('')
    try {
      if ((await onSubmit?.()) !== false) dialog.current?.close()
    } catch (cause) {
      setError(describeError(cause))
    }
    isBusy.current = false
  }
  return (
    <dialog ref={dialog} aria-label={title} onClose={closeDialog}>
      <form class="column" onSubmit={submit} onKeyDown={submitByKey}>
        <div class="line">
          <h1>{title}</h1>
          <span class="push" />
          <Button class="quiet" label="✕" aria-label="Close (Esc)" onClick={closeDialog} />
        </div>
        <FormError.Provider value={error}>{children}</FormError.Provider>
        {verb !== undefined && (
          <div class="bar">
            <span class="push" />
            {buttons}
            <Button
              type="submit"
              class={isDangerous ? 'danger main' : 'main'}
              label={verb}
              hotkey="Ctrl ⏎"
              disabled={disabled}
              autofocus={!isDangerous}
            />
          </div>
        )}
      </form>
    </dialog>
  )
}

/** Submits a form by Ctrl+Enter. A held key answers no question, and a number is judged when it is left. */
function submitByKey(event: TargetedKeyboardEvent<HTMLFormElement>): void {
  if (event.key !== 'Enter') return
  if (event.repeat) event.preventDefault()
  else if (event.ctrlKey || event.metaKey) {
    if (event.target instanceof HTMLElement) event.target.blur()
    event.currentTarget.querySelector<HTMLElement>('[type=submit]')?.click()
  }
}

/** Opens the dialog before the browser paints: Esc would not close one that is drawn and not yet open. Then returns the focus, or focuses the detail. */
function useModal(dialog: { readonly current: HTMLDialogElement | null }): void {
  useLayoutEffect(() => {
    const before = document.activeElement
    const field = dialog.current?.querySelector<HTMLElement>('[autofocus]')
    // A text is read from its start, and a browser scrolls to the cursor.
    if (field instanceof HTMLTextAreaElement) field.setSelectionRange(0, 0)
    dialog.current?.showModal()
    field?.focus()
    return () => {
      const isLost = !(before instanceof HTMLElement && before.isConnected && before !== document.body)
      const place = isLost ? document.querySelector<HTMLElement>('.detail h1') : before
      place?.focus({ preventScroll: true })
    }
  }, [])
}

export function closeDialog(): void {
  store.set({ dialog: undefined })
}

const drafts = new Map<string, unknown>()

/** Values of a form in a dialog. They survive closing the dialog, which may be a mistake, until they are forgotten because they were sent. */
export function useDraft<V>(name: string, start: () => V) {
  const [values, setValues] = useState(() => (drafts.get(name) as V | undefined) ?? start()) // set below under this name
  const set = (next: V) => {
    drafts.set(name, next)
    setValues(next)
  }
  return { values, set, forget: () => drafts.delete(name) }
}

export function ask({ text, ...question }: Omit<DialogOptions, 'children'> & { readonly text: string }): void {
  const cancel = <Button label="Cancel" autofocus={question.isDangerous} onClick={closeDialog} />
  const draw = () => (
    <Dialog {...question} buttons={cancel}>
      <p>{text}</p>
      <Fields shapes={{}} values={{}} onInput={() => {}} />
    </Dialog>
  )
  store.set({ dialog: draw })
}

export function showText(title: string, text: string): void {
  const draw = () => (
    <Dialog title={title}>
      <textarea
        class="mono"
        rows={Math.min(16, 1 + Math.ceil(text.length / 80))}
        readOnly
        autofocus
        aria-label={title}
        value={text}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
    </Dialog>
  )
  store.set({ dialog: draw })
}
