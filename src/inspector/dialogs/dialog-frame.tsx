import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'

interface FrameOptions {
  readonly title: string
  readonly children: ComponentChildren
  /** Runs on Ctrl+Enter, and on the form's button, but not again before it has ended. */
  readonly onSubmit?: () => Promise<unknown> | undefined
}

/** A dialog over the page. Esc closes it, and the focus returns to the element that had it. */
export function DialogFrame({ title, children, onSubmit }: FrameOptions): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
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
    if (isBusy.current) return
    isBusy.current = true
    await onSubmit?.()
    isBusy.current = false
  }
  return (
    <dialog ref={dialog} aria-label={title} onClose={() => store.set({ dialog: undefined })}>
      <form
        onSubmit={submit}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
        }}
      >
        <div class="title">
          <h1>{title}</h1>
          <Button class="quiet" label="✕" aria-label="Close (Esc)" onClick={() => store.set({ dialog: undefined })} />
        </div>
        {children}
      </form>
    </dialog>
  )
}
