import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { act, change, copyText, setActive } from '../model/actions.ts'
import { follow, go } from '../model/address.ts'
import { api } from '../model/api.ts'
import { page } from '../model/page-model.ts'
import { Empty } from '../parts/small.tsx'
import { WebhookForm } from '../parts/webhook-form.tsx'
import type { WebhookShape } from '../shapes.ts'
import { count } from '../text/count.ts'

/** Time after which a revealed secret is hidden again. */
const SHOWN_MS = 30_000

/** The registrations of all accounts. */
export function WebhooksScreen(): JSX.Element {
  const [isNew, setNew] = useState(false)
  const webhooks = page.state?.webhooks ?? []
  return (
    <div class="page">
      <div class="bar">
        <h1>Webhooks</h1>
        <span class="push" />
        <button type="button" class="main" onClick={() => setNew(!isNew)}>
          {isNew ? 'Cancel' : 'New webhook'}
        </button>
      </div>
      {isNew && <WebhookForm webhook={undefined} onDone={() => setNew(false)} />}
      {webhooks.length === 0 && !isNew && (
        <Empty title="No webhook is registered">
          <p>Your client can register one through the service's API. To register one here, choose “New webhook”.</p>
        </Empty>
      )}
      {webhooks.map((webhook) => (
        <Card key={webhook.id} webhook={webhook} />
      ))}
    </div>
  )
}

function Card({ webhook }: { readonly webhook: WebhookShape }): JSX.Element {
  const [isEdited, setEdited] = useState(false)
  const { id, accountKey, url, events, active, description } = webhook
  const rows = page.rows.all.filter((row) => row.webhook === id && !row.isGone)
  const countOf = (status: string) => rows.filter((row) => row.status === status).length
  const [succeeded, failed] = [countOf('success'), countOf('failed')]
  const finished = succeeded + failed
  const rate = finished === 0 ? '–' : `${Math.round((succeeded / finished) * 100)} % delivered`
  return (
    <section class={active ? 'card' : 'card off'} aria-label={url}>
      <header>
        <h2 class="mono url">{url}</h2>
        <span class={active ? 'status ok' : 'status held'}>
          <span class="icon" aria-hidden="true">
            {active ? '✓' : '‖'}
          </span>
          {active ? 'active' : 'paused'}
        </span>
      </header>
      <p class="dim">
        {accountKey} · <span class="mono">{id}</span>
        {description !== undefined && ` · ${description}`} ·{' '}
        <a
          href={`?q=webhook:${id}`}
          onClick={(event) => follow(event, () => go({ screen: 'deliveries', query: `webhook:${id}` }))}
        >
          {count(rows.length, 'delivery', 'deliveries')}
        </a>{' '}
        · {rate}
        {failed > 0 && `, ${failed} failed`}
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
        <button type="button" onClick={() => setActive(id, !active)}>
          {active ? 'Pause' : 'Resume'}
        </button>
        <button type="button" onClick={() => setEdited(!isEdited)}>
          {isEdited ? 'Cancel' : 'Edit'}
        </button>
        <Secret id={id} />
        <span class="push" />
        <Delete webhook={webhook} />
      </div>
    </section>
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
  if (secret === undefined)
    return (
      <button type="button" onClick={reveal}>
        Reveal secret
      </button>
    )
  return (
    <span class="secret">
      <code>{secret}</code>
      <button type="button" onClick={() => copyText(secret, 'secret')}>
        Copy
      </button>
      <button type="button" onClick={() => setSecret(undefined)}>
        Hide
      </button>
    </span>
  )
}

function Delete({ webhook }: { readonly webhook: WebhookShape }): JSX.Element {
  const [isAsked, setAsked] = useState(false)
  const remove = () => change(`DELETE webhooks/${webhook.id}`, undefined, 'webhook deleted')
  if (!isAsked)
    return (
      <button type="button" class="plain" onClick={() => setAsked(true)}>
        Delete…
      </button>
    )
  return (
    <>
      <span>Delete this webhook and its secret for good?</span>
      <button type="button" class="danger" onClick={remove}>
        Delete
      </button>
      <button type="button" onClick={() => setAsked(false)}>
        Keep
      </button>
    </>
  )
}
