import type { ComponentChildren, JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'

interface DialogOptions {
  readonly title: string
  readonly children: ComponentChildren
  /** Label of the button that submits the form; without it there is none. */
  readonly verb?: string | undefined
  readonly disabled?: boolean
  /** Further buttons before it. */
  readonly buttons?: ComponentChildren
  /** Runs on Ctrl+Enter, and on the form's button, but not again before it has ended. The dialog closes if it resolves with true. */
  readonly onSubmit?: () => Promise<unknown> | undefined
}

/** A dialog over the page. Esc closes it, and the focus returns to the element that had it. */
export function Dialog({ title, children, verb, disabled = false, buttons, onSubmit }: DialogOptions): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the browser paints: Esc would not close a dialog that is drawn and not yet open.
  useLayoutEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    dialog.current?.querySelector<HTMLElement>('[autofocus]')?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const isBusy = useRef(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    if (isBusy.current || disabled) return
    isBusy.current = true
    const isDone = await onSubmit?.()
    isBusy.current = false
    if (isDone === true) dialog.current?.close()
  }
  return (
    <dialog ref={dialog} aria-label={title} onClose={closeDialog}>
      <form
        onSubmit={submit}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          if (event.repeat)
            event.preventDefault() // a held key answers no question
          else if (event.ctrlKey || event.metaKey) submit(event)
        }}
      >
        <div class="title">
          <h1>{title}</h1>
          <Button class="quiet" label="✕" aria-label="Close (Esc)" onClick={closeDialog} />
        </div>
        {children}
        {verb !== undefined && (
          <div class="bar">
            <span class="push" />
            {buttons}
            <Button type="submit" class="main" label={verb} hotkey="Ctrl ⏎" disabled={disabled} autofocus />
          </div>
        )}
      </form>
    </dialog>
  )
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
