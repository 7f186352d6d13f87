import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { WebhookShape } from '../../emulator/contract.ts'
import { act, change, copyText, setActive } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { page } from '../model/page-model.ts'
import { Button, Confirm } from '../parts/fields.tsx'
import { Empty, Status, ViewLink } from '../parts/small.tsx'
import { WebhookForm } from '../parts/webhook-form.tsx'
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
        <Button class="main" label={isNew ? 'Cancel' : 'New webhook'} onClick={() => setNew(!isNew)} />
      </div>
      {isNew && <WebhookForm webhook={undefined} onDone={() => setNew(false)} />}
      {webhooks.length === 0 && !isNew && (
        <Empty
          title="No webhook is registered"
          text="Your client can register one through the service's API. To register one here, choose “New webhook”."
        />
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
        {active ? <Status state="ok" word="active" /> : <Status state="held" word="paused" />}
      </header>
      <p class="dim">
        {accountKey} · <span class="mono">{id}</span>
        {description !== undefined && ` · ${description}`} ·{' '}
        <ViewLink view={{ screen: 'deliveries', query: `webhook:${id}` }}>
          {count(rows.length, 'delivery', 'deliveries')}
        </ViewLink>{' '}
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
        <Button label={active ? 'Pause' : 'Resume'} onClick={() => setActive(id, !active)} />
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
  if (secret === undefined) return <Button label="Reveal secret" onClick={reveal} />
  return (
    <span class="bar">
      <code class="url">{secret}</code>
      <Button label="Copy" onClick={() => copyText(secret, 'secret')} />
      <Button label="Hide" onClick={() => setSecret(undefined)} />
    </span>
  )
}
