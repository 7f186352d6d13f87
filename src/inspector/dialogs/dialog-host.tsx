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
        <dl class="keys">
          {listKeys().map(([keys, text]) => (
            <div key={keys}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <dl class="keys">
          {FILTER_KEYS.map(([key, text]) => (
            <div key={key}>
              <dt>
                <code>{key}</code>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
          <div>
            <dt>
              <code>-</code>
            </dt>
            <dd>before a key or a text: excludes what matches</dd>
          </div>
        </dl>
      </div>
      <p class="dim">The filter is part of the URL, so you can open a view in a new tab, or share it.</p>
    </DialogFrame>
  )
}
