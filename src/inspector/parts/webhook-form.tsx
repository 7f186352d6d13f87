import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { WebhookShape } from '../../emulator/contract.ts'
import { change } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { Button, Choice, Editor, TextField } from './fields.tsx'

interface FormOptions {
  /** Undefined for a new one. */
  readonly webhook: WebhookShape | undefined
  readonly onDone: () => void
}

/** A form for a registration. */
export function WebhookForm({ webhook, onDone }: FormOptions): JSX.Element {
  const accounts = store.state?.accounts.map(({ key }) => key) ?? []
  const [account, setAccount] = useState(accounts[0] ?? '')
  const [url, setUrl] = useState(webhook?.url ?? 'http://localhost:3000/webhooks')
  const [events, setEvents] = useState(
    webhook?.events.join('\n') ?? 'contact.created\ncontact.updated\ncontact.deleted',
  )
  const save = async (event: Event) => {
    event.preventDefault()
    const fields = { url, events: events.split(/[\s,]+/).filter(Boolean) }
    const isDone =
      webhook === undefined
        ? await change('POST webhooks', { ...fields, accountKey: account }, 'webhook registered')
        : await change(`PUT webhooks/${webhook.id}`, fields, 'webhook changed')
    if (isDone) onDone()
  }
  return (
    <form class="card" onSubmit={save}>
      {webhook === undefined && <Choice label="Account" options={accounts} value={account} onInput={setAccount} />}
      <TextField class="field" label="URL" value={url} onInput={setUrl} />
      <Editor
        label="Event types, one per line; the service has no wildcards"
        text={events}
        rows={5}
        onInput={setEvents}
      />
      <div class="bar">
        <span class="push" />
        <Button type="submit" class="main" label={webhook === undefined ? 'Register' : 'Save'} />
      </div>
    </form>
  )
}
