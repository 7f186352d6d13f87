import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { type CopyForm, closeDelivery, copyDelivery, resend, retry, setActive } from '../model/actions.ts'
import { hasInbox } from '../model/inbox.ts'
import { whyNotResent } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { ui } from '../model/ui.ts'
import { Empty, Key } from '../parts/small.tsx'
import type { DeliveryDetail } from '../shapes.ts'
import { nameSigning } from '../text/explain.ts'
import { AnswerView } from './answer-view.tsx'
import { BodyView } from './body-view.tsx'
import { DetailTitle } from './detail-title.tsx'
import { DiffView } from './diff-view.tsx'
import { InboxSection } from './inbox-section.tsx'
import { SignatureView } from './signature-view.tsx'
import { Timeline } from './timeline.tsx'
import { useDetail, useSignature } from './use-detail.ts'
import { VerdictView } from './verdict.tsx'

/** One delivery: its state with advice, its attempts and answers, its body and its signature. */
export function Detail({ id }: { readonly id: string }): JSX.Element {
  const { value, error } = useDetail(id)
  const row = page.rows.find(id)
  const isKnown = row !== undefined
  useEffect(() => {
    if (isKnown) ui.hold()
  }, [isKnown])
  return (
    <section class="detail" aria-label="Delivery" data-id={id}>
      <DetailTitle title={row?.type ?? 'Delivery'} onClose={() => closeDelivery(id)}>
        {row?.event ?? id} · {row?.account} · <span class="url">{page.urlOf(row?.webhook ?? '') || row?.webhook}</span>
      </DetailTitle>
      {value === undefined && error !== undefined && (
        <Empty title={row?.isGone ? 'A delivery from a previous run' : error}>
          {row?.isGone && <p>The emulator was restarted since, and no longer has the body.</p>}
        </Empty>
      )}
      {value !== undefined && row !== undefined && <Parts detail={value} row={row} />}
    </section>
  )
}

function Parts({ detail, row }: { readonly detail: DeliveryDetail; readonly row: PlacedRow }): JSX.Element {
  const signature = useSignature(detail.id)
  const shown = detail.attempts.find(({ number }) => number === ui.attempt) ?? detail.attempts.at(-1)
  return (
    <div class="parts">
      <VerdictView detail={detail} row={row} />
      <Actions row={row} />
      <Timeline detail={detail} shown={shown} />
      {shown !== undefined && <AnswerView attempt={shown} />}
      {hasInbox() && row.last?.code === 'accepted' && <InboxSection row={row} />}
      {detail.attempts.length > 1 && <DiffView attempts={detail.attempts} />}
      <BodyView detail={detail} signatures={signature.value?.sent ?? []} />
      <SignatureView signature={signature} signing={detail.signing} />
    </div>
  )
}

const COPIES: readonly (readonly [CopyForm, string])[] = [
  ['curl', 'curl command'],
  ['test', 'vitest test'],
  ['fixture', 'fixture line'],
  ['id', 'event id'],
]

function Actions({ row }: { readonly row: PlacedRow }): JSX.Element {
  const why = whyNotResent(row)
  const webhook = page.webhook(row.webhook)
  const isPinned = ui.pinned.has(row.id)
  return (
    <div class="bar actions">
      <button type="button" class="main" disabled={why !== undefined} title={why} onClick={() => resend(row.id)}>
        Resend <Key name="r" />
      </button>
      <button
        type="button"
        disabled={why !== undefined}
        title={why}
        onClick={() => ui.open({ kind: 'edit', id: row.id })}
      >
        Edit &amp; resend <Key name="e" />
      </button>
      {row.status === 'failed' && row.resendOf === null && (
        <button type="button" onClick={() => retry(row.id)} title="Calls the manual retry of the service">
          Retry
        </button>
      )}
      <details class="menu">
        <summary>More</summary>
        <div class="items">
          {COPIES.map(([form, name]) => (
            <button key={form} type="button" onClick={() => copyDelivery(row.id, form)}>
              Copy {name}
            </button>
          ))}
          <button type="button" disabled={why !== undefined} onClick={() => resend(row.id, { count: 8 })}>
            Resend 8 at the same time
          </button>
          <button type="button" onClick={() => ui.pin(row.id)}>
            {isPinned ? 'Unpin' : 'Pin'}
          </button>
          {webhook !== undefined && (
            <button type="button" onClick={() => setActive(webhook.id, !webhook.active)}>
              {webhook.active ? 'Pause' : 'Resume'} its webhook
            </button>
          )}
        </div>
      </details>
      {row.signing !== 'valid' && <span class="tag">signed wrong on purpose: {nameSigning(row.signing)}</span>}
    </div>
  )
}
