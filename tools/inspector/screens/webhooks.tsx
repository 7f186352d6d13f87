import type { JSX } from 'preact'
import type { WebhookShape } from '../../emulator/contract.ts'
import { Dialog, useDraft } from '../dialogs/dialog.tsx'
import { act, change, copyText, pauseOrResume } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { resultOf } from '../model/filter.ts'
import { remember, store, useStore } from '../model/store.ts'
import { Button, Confirm, Fields } from '../parts/fields.tsx'
import { Empty, Status, Table, ViewLink } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'
import { count } from '../text/count.ts'

const COLUMNS = [
  ['Webhook'],
  ['State'],
  ['Delivered', 'number'],
  ['p95', 'number wide'],
  ['Actions', 'number'],
] as const
const TO_REGISTER =
  "Your client can register one through the service's API. To register one here, choose “New webhook”."

/** The registrations of all accounts. */
export function WebhooksScreen(): JSX.Element {
  const webhooks = useStore(() => store.state?.webhooks) ?? []
  const figures = useStore(countDeliveries)
  const rows = webhooks.map((webhook) => describeWebhook(webhook, figures.get(webhook.id) ?? NONE))
  return (
    <div class="page">
      <div class="bar">
        <h1>Webhooks</h1>
        <span class="push" />
        <Button class="main" label="New webhook" onClick={() => openForm(undefined)} />
      </div>
      {rows.length === 0 && <Empty title="No webhook is registered" text={TO_REGISTER} />}
      {rows.length > 0 && <Table name="Webhooks" columns={COLUMNS} rows={rows} />}
    </div>
  )
}

const NONE = {
  known: 0,
  success: 0,
  failed: 0,
  retrying: 0,
  pending: 0,
  times: [] as number[],
  lastAt: '',
  isFailing: false,
}
type Figures = typeof NONE

/** Figures of the known deliveries of each webhook. */
const countDeliveries = remember(
  () => [store.rows.all],
  () => {
    const found = new Map<string, Figures>()
    for (const row of store.rows.all) {
      const { webhook, last, signing } = row
      const figures = found.get(webhook) ?? { ...NONE, times: [] }
      found.set(webhook, figures)
      figures.known++
      if (signing !== 'valid') continue
      figures[resultOf(row)]++
      if (last === null) continue
      figures.times.push(last.ms)
      if (last.at > figures.lastAt) Object.assign(figures, { lastAt: last.at, isFailing: !last.isAcknowledged })
    }
    return found
  },
)

/** 95 % of the times are at most this long. */
function findP95(times: readonly number[]): string {
  const ms = times.toSorted((one, other) => one - other)[Math.ceil(times.length * 0.95) - 1]
  return ms === undefined ? '–' : `${ms} ms`
}

/** The row of a webhook. It fails if its last attempt did. */
function describeWebhook(webhook: WebhookShape, { known, success, failed, retrying, times, isFailing }: Figures) {
  const { id, accountKey, url, active, events, description } = webhook
  const state = active ? (isFailing ? 'failed' : 'ok') : 'held'
  const tried = success + failed + retrying
  const counts = Object.entries({ failed, retrying }).filter(([, number]) => number > 0)
  return {
    key: id,
    class: state === 'failed' ? 'failing' : undefined,
    cells: [
      <>
        <code class="url" title={`${id}\n${events.join('\n')}`}>
          {url}
        </code>
        <small>
          {accountKey} ·{' '}
          <ViewLink view={{ screen: 'deliveries', query: `webhook:${id}` }}>
            {count(known, 'delivery', 'deliveries')}
          </ViewLink>{' '}
          · {events.length === 1 ? events[0] : `${events.length} types`}{' '}
          {description && escapeHidden(`· ${description}`)}
        </small>
      </>,
      <Status state={state} word={{ failed: 'failing', ok: 'active', held: 'paused' }[state]} />,
      <>
        {tried === 0 ? '–' : `${Math.floor((success / tried) * 100)} %`}
        {counts.map(([status, number]) => (
          <small key={status}>
            <ViewLink view={{ screen: 'deliveries', query: `webhook:${id} status:${status}` }}>
              {`${number.toLocaleString('en')} ${status}`}
            </ViewLink>
          </small>
        ))}
      </>,
      findP95(times),
      <Actions webhook={webhook} />,
    ],
  }
}

function Actions({ webhook }: { readonly webhook: WebhookShape }): JSX.Element {
  const { id, url, active } = webhook
  const showSecret = (text: string) => store.set({ dialog: { kind: 'text', title: `Secret of ${url}`, text } })
  return (
    <details class="menu">
      <summary aria-label={`Actions of ${url}`} />
      <div class="items">
        <Button label="Edit…" hotkey="e" onClick={() => openForm(webhook)} />
        <Button label={active ? 'Pause…' : 'Resume'} hotkey="p" onClick={() => pauseOrResume(webhook)} />
        <Button label="Show its secret" onClick={() => readSecret(id, showSecret)} />
        <Button label="Copy its secret" onClick={() => readSecret(id, (secret) => copyText(secret, 'secret'))} />
        <Confirm
          label="Delete…"
          question={`Delete the webhook of ${url} and its secret for good?`}
          verb="Delete"
          onYes={() => change(`DELETE webhooks/${id}`, undefined, 'webhook deleted')}
        />
      </div>
    </details>
  )
}

function readSecret(id: string, use: (secret: string) => unknown): Promise<boolean> {
  return act(async () => use((await api<{ readonly secret: string }>(`POST webhooks/${id}/secret`)).secret))
}

function openForm(webhook: WebhookShape | undefined): void {
  store.set({ dialog: { kind: 'form', draw: () => <WebhookForm webhook={webhook} /> } })
}

/** A form for a registration, or for a new one. */
function WebhookForm({ webhook }: { readonly webhook: WebhookShape | undefined }): JSX.Element {
  const accounts = store.state?.accounts.map(({ key }) => key) ?? []
  const { values, set, forget } = useDraft(JSON.stringify(webhook ?? 'a new webhook'), () => ({
    account: accounts[0] ?? '',
    url: webhook?.url ?? 'http://localhost:3000/webhooks',
    events: webhook?.events.join('\n') ?? 'contact.created\ncontact.updated\ncontact.deleted',
  }))
  const save = async () => {
    const fields = { url: values.url, events: values.events.split(/[\s,]+/).filter(Boolean) }
    const isDone =
      webhook === undefined
        ? await change('POST webhooks', { ...fields, accountKey: values.account }, 'webhook registered')
        : await change(`PUT webhooks/${webhook.id}`, fields, 'webhook changed')
    if (isDone) forget()
    return isDone
  }
  const shapes = {
    ...(webhook === undefined && { account: { label: 'Account', options: accounts } }),
    url: { label: 'URL', class: 'field', autofocus: true },
    events: { label: 'Event types, one per line; the service has no wildcards', rows: 8 },
  }
  return (
    <Dialog
      title={webhook === undefined ? 'New webhook' : 'Edit the webhook'}
      verb={webhook === undefined ? 'Register' : 'Save'}
      onSubmit={save}
    >
      <Fields shapes={shapes} values={values} onInput={set} />
    </Dialog>
  )
}
