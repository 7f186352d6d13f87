import type { ApiCall, Row, WebhookShape } from '../../emulator/contract.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { useCall } from '../detail/use-detail.ts'
import { ask, Dialog, showText, useDraft } from '../dialogs/dialog.tsx'
import { act, change, pauseOrResume } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { causeOf, outcomeOf, reasonOf, statusOf } from '../model/outcome.ts'
import { remember, store } from '../model/store.ts'
import { Button, Fields } from '../parts/fields.tsx'
import { Ago, Empty, Icon, Table, Url, ViewLink } from '../parts/small.tsx'
import { count } from '../text/show.ts'

const COLUMNS = [['Webhook'], ['State'], ['Handled', 'number'], ['p95', 'number']] as const
const TO_REGISTER = "Your client can register one through the service's API, and you by “New webhook”."

export function WebhooksScreen() {
  const webhooks = store.state?.webhooks ?? []
  const figures = countDeliveries()
  return (
    <div class="page column">
      <div class="bar">
        <h1>Webhooks</h1>
        <span class="push" />
        <Button class="main" label="New webhook" onClick={() => openForm(undefined)} />
      </div>
      {webhooks.length === 0 && <Empty title="No webhook is registered" text={TO_REGISTER} />}
      <Table
        name="Webhooks"
        columns={COLUMNS}
        rows={webhooks.map((webhook) => describeWebhook(webhook, figures.get(webhook.id) ?? NONE))}
      />
      <ApiCalls />
    </div>
  )
}

const NONE = {
  ...{ known: 0, dead: 0, failed: 0, retrying: 0, pending: 0, success: 0 },
  /** Accepted events that are not known to be handled: they wait, have left the inbox, or theirs is not shown. */
  accepted: 0,
  /** Events of an inbox that are due, and that no worker takes. */
  overdue: 0,
  times: [] as number[],
  /** The newest delivery that came to something, and the newest that failed. */
  newest: undefined as Row | undefined,
  worst: undefined as Row | undefined,
}
type Figures = typeof NONE

/** Figures of the known deliveries of each webhook, without those that were signed wrong on purpose. */
const countDeliveries = remember(
  () => [store.rows.all, store.state],
  () => {
    const found = new Map<string, Figures>()
    for (const row of store.rows.all) {
      const { webhook, signing, times } = row
      const figures = found.get(webhook) ?? { ...NONE, times: [] }
      found.set(webhook, figures)
      figures.known++
      if (signing !== 'valid') continue
      const status = statusOf(row)
      const isGone = /^(left|dropped)$/.test(outcomeOf(row))
      figures.times.push(...times)
      if (row.inbox?.isOverdue) figures.overdue++
      if (!isGone) figures[status]++
      if (isGone || (status === 'pending' && row.status === 'success')) figures.accepted++
      else if (status !== 'pending') figures.newest ??= row
      if (causeOf(row) !== undefined) figures.worst ??= row
    }
    return found
  },
)

/** 95 % of the times are at most this long. */
function findP95(times: readonly number[]): string {
  const ms = times.toSorted((one, other) => one - other)[Math.ceil(times.length * 0.95) - 1]
  return ms === undefined ? '–' : `${ms} ms`
}

/** The row of a webhook. It is failing if its last delivery failed, degraded if an earlier one did and was not handled since, and waiting if no worker takes its events. */
function describeWebhook(webhook: WebhookShape, { known, times, newest, worst, overdue, ...counts }: Figures) {
  const { id, accountKey, url, active, events, description } = webhook
  const unseen = overdue > 0 ? 'waiting' : newest === undefined && counts.accepted > 0 ? 'unknown' : 'healthy'
  const health = worst === undefined ? unseen : worst === newest ? 'failing' : 'degraded'
  const state = active ? health : 'paused'
  const others = (['dead', 'failed', 'retrying', 'pending'] as const).filter((status) => counts[status] > 0)
  const { dead, failed, retrying, success } = counts
  const ended = dead + failed + retrying + success
  return {
    key: id,
    cells: [
      <>
        {description && <h2>{escapeHidden(description)}</h2>}
        <code title={[id, ...events].join('\n')}>
          <Url url={url} />
        </code>
        <small>
          {accountKey} ·{' '}
          <ViewLink view={{ screen: 'deliveries', query: `webhook:${id}` }}>
            {count(known, 'delivery', 'deliveries')}
          </ViewLink>{' '}
          · {events.length === 1 ? events[0] : `${events.length} types`}
        </small>
        <div class="bar">
          <Button class="plain" label="Edit…" onClick={() => openForm(webhook)} />
          <Button class="plain" label={active ? 'Pause…' : 'Resume'} onClick={() => pauseOrResume(webhook)} />
          <Button class="plain" label="Secret" onClick={() => act(() => showSecret(webhook))} />
          <Button class="plain danger" label="Delete…" onClick={() => askToDelete(webhook)} />
        </div>
      </>,
      <>
        <span class={`health ${state}`}>
          <Icon sign={{ healthy: '✓', degraded: '!', failing: '✕', paused: '‖', waiting: '…', unknown: '…' }[state]} />{' '}
          {state}
        </span>
        {overdue > 0 && <small>{count(overdue, 'event is', 'events are')} due. Is a worker running?</small>}
        {state === 'unknown' && <small>it accepts events, and none was seen to be handled</small>}
        {worst !== undefined && (
          <small>
            <ViewLink view={{ screen: 'deliveries', open: worst.id }}>
              {escapeHidden(reasonOf(worst)?.text ?? 'the last failure')}
            </ViewLink>
          </small>
        )}
      </>,
      <>
        {ended === 0 ? '–' : `${Math.floor((success / ended) * 100)} %`}
        {others.map((status) => (
          <small key={status}>
            <ViewLink view={{ screen: 'deliveries', query: `webhook:${id} status:${status}` }}>
              {`${counts[status].toLocaleString('en')} ${status}`}
            </ViewLink>
          </small>
        ))}
      </>,
      findP95(times),
    ],
  }
}

async function showSecret({ id, url }: WebhookShape): Promise<void> {
  const { secret } = await api<{ readonly secret: string }>(`POST webhooks/${id}/secret`)
  showText(`Secret of ${url}`, secret)
}

function askToDelete({ id, url }: WebhookShape): void {
  ask({
    title: 'Delete the webhook?',
    text: `${url} and its secret are deleted for good.`,
    verb: 'Delete',
    isDangerous: true,
    onSubmit: () => change(`DELETE webhooks/${id}`, undefined, 'webhook deleted'),
  })
}

function openForm(webhook: WebhookShape | undefined): void {
  store.set({ dialog: () => <WebhookForm webhook={webhook} /> })
}

function WebhookForm({ webhook }: { readonly webhook: WebhookShape | undefined }) {
  const accounts = store.state?.accounts.map(({ key }) => key) ?? []
  const { values, set, forget } = useDraft(JSON.stringify(webhook ?? 'a new webhook'), () => ({
    account: accounts[0] ?? '',
    url: webhook?.url ?? 'http://localhost:3000/webhooks',
    description: webhook?.description ?? '',
    events: webhook?.events.join('\n') ?? 'contact.created\ncontact.updated\ncontact.deleted',
  }))
  const save = async () => {
    const { account: accountKey, url, description } = values
    const isNamed = description !== (webhook?.description ?? '')
    const fields = { url, events: values.events.split(/[\s,]+/).filter(Boolean), ...(isNamed && { description }) }
    if (webhook === undefined) await change('POST webhooks', { ...fields, accountKey }, 'webhook registered')
    else await change(`PUT webhooks/${webhook.id}`, fields, 'webhook changed')
    forget()
  }
  const shapes = {
    ...(webhook === undefined && { account: { label: 'Account', options: accounts } }),
    url: { label: 'URL', autofocus: true },
    description: { label: 'Description' },
    events: { label: 'Event types, one per line; the service has no wildcards', rows: 8 },
  }
  const [title, verb] = webhook === undefined ? ['New webhook', 'Register'] : ['Edit the webhook', 'Save']
  return (
    <Dialog {...{ title, verb }} onSubmit={save}>
      <Fields shapes={shapes} values={values} onInput={set} />
    </Dialog>
  )
}

const CALL_COLUMNS = [['Call'], ['Status'], ['Rate left', 'number'], ['When', 'number dim']] as const
const NO_CALLS = "Your client's calls of /api/… appear here, with their status and the remaining rate limit."

function ApiCalls() {
  const second = Math.floor(Date.now() / 1_000)
  const dialect = store.state?.settings.dialect
  const { value: calls = [], error } = useCall<readonly ApiCall[]>('GET calls', String(second))
  const rows = calls.slice(0, 200).map(({ id, status, method, path, account, rateRemaining, at }) => ({
    key: id,
    cells: [
      <>
        <code>{`${method} ${path}`}</code>
        <small>{account ?? 'no account'}</small>
      </>,
      status < 400 ? `✓ ${status}` : <b class="result bad">✕ {status}</b>,
      rateRemaining ?? '–',
      <Ago at={at} />,
    ],
  }))
  return (
    <section>
      <h2>API calls</h2>
      {rows.length > 0 ? (
        <Table name="API calls" columns={CALL_COLUMNS} rows={rows} />
      ) : (
        <p class="dim">{error ?? NO_CALLS}</p>
      )}
      <p class="dim">
        Dialect: {dialect}. The emulator assumes what the service's documents leave open:{' '}
        <code>npx postern emulator --assumptions</code> lists it.
      </p>
    </section>
  )
}
