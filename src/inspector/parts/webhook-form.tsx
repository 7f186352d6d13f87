import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { change } from '../model/actions.ts'
import { page } from '../model/page-model.ts'
import type { WebhookShape } from '../shapes.ts'
import { Editor } from './fields.tsx'

interface FormOptions {
  /** Undefined for a new one. */
  readonly webhook: WebhookShape | undefined
  readonly onDone: () => void
}

/** A form for a registration. */
export function WebhookForm({ webhook, onDone }: FormOptions): JSX.Element {
  const [account, setAccount] = useState(webhook?.accountKey ?? page.state?.accounts[0]?.key ?? '')
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
      {webhook === undefined && (
        <label class="field">
          Account
          <select value={account} onChange={(event) => setAccount(event.currentTarget.value)}>
            {page.state?.accounts.map(({ key }) => (
              <option key={key}>{key}</option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        URL
        <input
          type="text"
          class="mono"
          value={url}
          spellcheck={false}
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
      </label>
      <Editor
        label="Event types, one per line; the service has no wildcards"
        text={events}
        rows={5}
        onInput={setEvents}
      />
      <div class="bar">
        <span class="push" />
        <button type="submit" class="main">
          {webhook === undefined ? 'Register' : 'Save'}
        </button>
      </div>
    </form>
  )
}
