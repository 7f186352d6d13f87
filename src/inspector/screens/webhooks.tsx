import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { WebhookShape } from '../../emulator/contract.ts'
import { act, change, copyText, pauseOrResume } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { remember, store, useStore } from '../model/store.ts'
import { Button, Confirm } from '../parts/fields.tsx'
import { Empty, FlatTable, Status, ViewLink } from '../parts/small.tsx'
import { WebhookForm } from '../parts/webhook-form.tsx'
import { count } from '../text/count.ts'

/** Time after which a revealed secret is hidden again. */
const SHOWN_MS = 30_000

/** The registrations of all accounts. */
export function WebhooksScreen(): JSX.Element {
  const [isNew, setNew] = useState(false)
  const webhooks = useStore(() => store.state?.webhooks) ?? []
  const figures = useStore(countDeliveries)
  return (
    <div class="page">
      <div class="bar">
        <h1>Webhooks</h1>
        <span class="push" />
        <Button class="main" label={isNew ? 'Cancel' : 'New webhook'} onClick={() => setNew(!isNew)} />
      </div>
      {isNew && <WebhookForm webhook={undefined} onDone={() => setNew(false)} />}
      {webhooks.length === 0 && !isNew && (
        <Empty
          title="No webhook is registered"
          text="Your client can register one through the service's API. To register one here, choose “New webhook”."
        />
      )}
      {webhooks.length > 0 && (
        <FlatTable name="Webhooks" columns={COLUMNS}>
          {webhooks.map((webhook) => (
            <Line key={webhook.id} webhook={webhook} figures={figures.get(webhook.id) ?? NONE} />
          ))}
        </FlatTable>
      )}
    </div>
  )
}

interface Figures {
  readonly known: number
  readonly succeeded: number
  readonly failed: number
  /** 95 % of the last attempts took at most this long. */
  readonly p95: number | undefined
}

/** Figures of the known deliveries of each webhook. */
const countDeliveries = remember(
  () => [store.rows.version],
  () => {
    const found = new Map<string, { known: number; succeeded: number; failed: number; times: number[] }>()
    for (const { webhook, status, last, isGone } of store.rows.all) {
      if (isGone) continue
      const figures = found.get(webhook) ?? { known: 0, succeeded: 0, failed: 0, times: [] }
      figures.known++
      if (status === 'success') figures.succeeded++
      if (status === 'failed') figures.failed++
      if (last !== null) figures.times.push(last.ms)
      found.set(webhook, figures)
    }
    return new Map(
      [...found].map(([id, { times, ...counts }]): [string, Figures] => {
        const p95 = times.sort((one, other) => one - other)[Math.ceil(times.length * 0.95) - 1]
        return [id, { ...counts, p95 }]
      }),
    )
  },
)

const NONE: Figures = { known: 0, succeeded: 0, failed: 0, p95: undefined }
const COLUMNS = [
  ['URL'],
  ['State'],
  ['Account'],
  ['Deliveries', 'number'],
  ['Delivered', 'number'],
  ['p95', 'number'],
  ['Details', 'number'],
] as const

interface LineOptions {
  readonly webhook: WebhookShape
  readonly figures: Figures
}

function Line({ webhook, figures }: LineOptions): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const { id, accountKey, url, active } = webhook
  const { known, succeeded, failed, p95 } = figures
  const finished = succeeded + failed
  return (
    <>
      <tr class={active ? undefined : 'off'}>
        <td class="mono url">{url}</td>
        <td>{active ? <Status state="ok" word="active" /> : <Status state="held" word="paused" />}</td>
        <td>{accountKey}</td>
        <td class="number">
          <ViewLink view={{ screen: 'deliveries', query: `webhook:${id}` }}>
            {count(known, 'delivery', 'deliveries')}
          </ViewLink>
        </td>
        <td class={failed > 0 ? 'number result bad' : 'number'}>
          {finished === 0 ? '–' : `${Math.round((succeeded / finished) * 100)} %`}
          {failed > 0 && `, ${failed} failed`}
        </td>
        <td class="number">{p95 === undefined ? '–' : `${p95} ms`}</td>
        <td class="number">
          <Button
            label={isOpen ? 'Close' : 'Open'}
            aria-label={`${isOpen ? 'Close' : 'Open'} ${url}`}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          />
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={COLUMNS.length}>
            <Opened webhook={webhook} />
          </td>
        </tr>
      )}
    </>
  )
}

function Opened({ webhook }: { readonly webhook: WebhookShape }): JSX.Element {
  const [isEdited, setEdited] = useState(false)
  const { id, events, active, description } = webhook
  return (
    <div class="section opened">
      <p class="dim">
        <span class="mono">{id}</span>
        {description !== undefined && ` · ${description}`}
      </p>
      {isEdited ? (
        <WebhookForm webhook={webhook} onDone={() => setEdited(false)} />
      ) : (
        <p class="types">
          {events.map((event) => (
            <code key={event}>{event}</code>
          ))}
        </p>
      )}
      <div class="bar">
        <Button label={active ? 'Pause…' : 'Resume'} onClick={() => pauseOrResume(webhook)} />
        <Button label={isEdited ? 'Cancel' : 'Edit'} onClick={() => setEdited(!isEdited)} />
        <Secret id={id} />
        <span class="push" />
        <Confirm
          label="Delete…"
          question="Delete this webhook and its secret for good?"
          verb="Delete"
          onYes={() => change(`DELETE webhooks/${id}`, undefined, 'webhook deleted')}
        />
      </div>
    </div>
  )
}

function Secret({ id }: { readonly id: string }): JSX.Element {
  const [secret, setSecret] = useState<string>()
  useEffect(() => {
    if (secret === undefined) return
    const timer = setTimeout(() => setSecret(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [secret])
  const reveal = () =>
    act(async () => setSecret((await api<{ readonly secret: string }>(`POST webhooks/${id}/secret`)).secret))
  if (secret === undefined) return <Button label="Reveal secret" onClick={reveal} />
  return (
    <span class="bar">
      <code class="url">{secret}</code>
      <Button label="Copy" onClick={() => copyText(secret, 'secret')} />
      <Button label="Hide" onClick={() => setSecret(undefined)} />
    </span>
  )
}
