import type { JSX } from 'preact'
import { FILTER_KEYS } from '../model/filter.ts'
import { listKeys } from '../model/keys.ts'
import { store, useStore } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { BulkDialog } from './bulk-dialog.tsx'
import { DialogFrame } from './dialog-frame.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { TriggerDialog } from './trigger-dialog.tsx'

interface AskOptions {
  readonly question: string
  readonly verb: string
  readonly onYes: () => Promise<unknown>
}

/** The open dialog. */
export function DialogHost(): JSX.Element | null {
  const dialog = useStore(() => store.dialog)
  switch (dialog?.kind) {
    case 'trigger':
      return <TriggerDialog />
    case 'edit':
      return <EditDialog key={dialog.id} id={dialog.id} />
    case 'bulk':
      return <BulkDialog bulk={dialog.bulk} />
    case 'text':
      return (
        <DialogFrame title={dialog.title}>
          <textarea class="mono" rows={16} readOnly aria-label={dialog.title} value={dialog.text} />
        </DialogFrame>
      )
    case 'ask':
      return <Ask {...dialog} />
    case 'help':
      return <Help />
    default:
      return null
  }
}

function Ask({ question, verb, onYes }: AskOptions): JSX.Element {
  const submit = () => {
    store.set({ dialog: undefined })
    return onYes()
  }
  return (
    <DialogFrame title={`${verb}?`} onSubmit={submit}>
      <p>{question}</p>
      <div class="fields">
        <span class="push" />
        <Button label="Cancel" onClick={() => store.set({ dialog: undefined })} />
        <Button type="submit" class="main" label={verb} autofocus />
      </div>
    </DialogFrame>
  )
}

function Help(): JSX.Element {
  return (
    <DialogFrame title="Keys and filters">
      <div class="columns">
        <Terms terms={listKeys()} />
        <Terms terms={FILTER_KEYS} />
      </div>
      <p class="dim">The filter is part of the URL, so you can open a view in a new tab, or share it.</p>
    </DialogFrame>
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
