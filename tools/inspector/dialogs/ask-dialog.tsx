import type { JSX } from 'preact'
import { store } from '../model/store.ts'
import { Button, Fields } from '../parts/fields.tsx'
import { closeDialog, Dialog } from './dialog.tsx'

/** A question before an action. */
interface Question {
  readonly title: string
  readonly text: string
  readonly verb: string
  /** True if what is lost cannot be brought back. */
  readonly isDangerous?: boolean
  /** Rejects if it fails. */
  readonly onYes: () => Promise<unknown>
}

/** Asks before an action. */
export function ask({ title, text, verb, isDangerous, onYes }: Question): void {
  const draw = (): JSX.Element => (
    <Dialog
      {...{ title, verb, isDangerous }}
      buttons={<Button label="Cancel" autofocus={isDangerous} onClick={closeDialog} />}
      onSubmit={onYes}
    >
      <p>{text}</p>
      <Fields shapes={{}} values={{}} onInput={() => {}} />
    </Dialog>
  )
  store.set({ dialog: draw })
}

/** Shows a text for copying by hand. */
export function showText(title: string, text: string): void {
  const draw = (): JSX.Element => (
    <Dialog title={title}>
      <textarea class="mono" rows={16} readOnly aria-label={title} value={text} />
    </Dialog>
  )
  store.set({ dialog: draw })
}
