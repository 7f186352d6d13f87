import type { JSX } from 'preact'
import { FILTER_KEYS } from '../model/filter.ts'
import { listKeys } from '../model/keys.ts'
import { type Question, store, useStore } from '../model/store.ts'
import { Button, Fields } from '../parts/fields.tsx'
import { BulkDialog } from './bulk-dialog.tsx'
import { closeDialog, Dialog } from './dialog.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { TriggerDialog } from './trigger-dialog.tsx'

/** The open dialog. */
export function DialogHost(): JSX.Element | null {
  const dialog = useStore(() => store.dialog)
  switch (dialog?.kind) {
    case 'trigger':
      return <TriggerDialog />
    case 'edit':
      return <EditDialog key={dialog.id} id={dialog.id} />
    case 'form':
      return dialog.draw()
    case 'bulk':
      return <BulkDialog bulk={dialog.bulk} />
    case 'text':
      return (
        <Dialog title={dialog.title}>
          <textarea class="mono" rows={16} readOnly aria-label={dialog.title} value={dialog.text} />
        </Dialog>
      )
    case 'ask':
      return <AskDialog question={dialog.question} />
    case 'help':
      return (
        <Dialog title="Keys and filters">
          <div class="columns">
            <Terms terms={listKeys()} />
            <Terms terms={FILTER_KEYS} />
          </div>
          <p class="dim">
            Tab reaches every other control. The filter is part of the URL, so you can open a view in a new tab, or
            share it.
          </p>
        </Dialog>
      )
    default:
      return null
  }
}

function AskDialog({ question }: { readonly question: Question }): JSX.Element {
  const { title, text, verb, isDangerous, onYes } = question
  return (
    <Dialog
      {...{ title, verb, isDangerous }}
      buttons={<Button label="Cancel" autofocus={isDangerous} onClick={closeDialog} />}
      onSubmit={onYes}
    >
      <p>{text}</p>
      <Fields shapes={{}} values={{}} onInput={() => {}} />
    </Dialog>
  )
}

function Terms({ terms }: { readonly terms: readonly (readonly [term: string, text: string])[] }): JSX.Element {
  return (
    <dl class="keys">
      {terms.map(([term, text]) => (
        <div key={term}>
          <dt>
            <kbd>{term}</kbd>
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  )
}
