import type { JSX } from 'preact'
import { FILTER_KEYS } from '../model/filter.ts'
import { listKeys } from '../model/keys.ts'
import { ui } from '../model/ui.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { DialogFrame } from './dialog-frame.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { TriggerDialog } from './trigger-dialog.tsx'

/** The open dialog. */
export function DialogHost(): JSX.Element | null {
  const { dialog } = ui
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
    case 'help':
      return <Help />
    default:
      return null
  }
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
