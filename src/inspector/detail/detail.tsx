import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { DeliveryDetail, Row } from '../../emulator/contract.ts'
import { readCode } from '../../wire/code-word.ts'
import { COPIES, closeDelivery, copyDelivery, pauseOrResume, resend, retry } from '../model/actions.ts'
import { hasInbox } from '../model/inbox.ts'
import { hold, whyNotResent } from '../model/list.ts'
import type { PlacedRow } from '../model/rows.ts'
import { store, useStore } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Ago, Empty, Result, ViewLink } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'
import { count } from '../text/count.ts'
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
  const listed = useStore(() => store.rows.find(id))
  const row = listed ?? (value && error === undefined ? store.rows.place(rowOf(value)) : undefined)
  useStore(() => store.state)
  useStore(() => store.pinned)
  const isKnown = listed !== undefined
  const isHeld = useStore(() => store.held !== undefined)
  useEffect(() => {
    if (isKnown) hold()
  }, [isKnown, isHeld])
  return (
    <section class="detail" aria-label="Delivery" data-id={id}>
      <DetailTitle title={escapeHidden(row?.type ?? 'Delivery')} onClose={() => closeDelivery(id)}>
        {escapeHidden(row?.event ?? id)} · {row?.account} ·{' '}
        <span class="url">{store.urlOf(row?.webhook ?? '') || row?.webhook}</span>
      </DetailTitle>
      {value !== undefined && row !== undefined ? (
        <Parts detail={value} row={row} />
      ) : (
        <NothingKnown id={id} isGone={row?.isGone === true} error={error} />
      )}
    </section>
  )
}

interface NothingOptions {
  readonly id: string
  readonly isGone: boolean
  readonly error: string | undefined
}

/** Says why the delivery is not shown, with a way back. */
function NothingKnown({ id, isGone, error }: NothingOptions): JSX.Element {
  if (error === undefined) return <Empty title="Loading" />
  return (
    <Empty title={isGone ? 'A delivery from a previous run' : error}>
      <p>
        {isGone
          ? 'The emulator was restarted since, and no longer has the body.'
          : 'The emulator keeps the last 10,000 deliveries, and none of a webhook that was deleted.'}
      </p>
      <Button label="Back to the list" hotkey="Esc" onClick={() => closeDelivery(id)} />
    </Empty>
  )
}

/** Makes the row of a delivery that is older than the list. */
function rowOf({ id, accountKey, webhookId, eventId, eventType, attempts, ...detail }: DeliveryDetail): Row {
  const last = attempts.at(-1)
  return {
    ...{ id, made: 0, change: 0, account: accountKey, webhook: webhookId, event: eventId, type: eventType },
    ...{ status: detail.status, signing: detail.signing, resendOf: detail.resendOf ?? null, note: detail.note ?? null },
    ...{ at: detail.createdAt, nextAt: detail.nextAttemptAt, attempts: attempts.length },
    last: last
      ? {
          result: last.status === undefined ? (last.failure ?? '') : String(last.status),
          code: readCode(last.responseBody),
          isAcknowledged: last.failure === undefined,
          at: last.at,
          ms: last.durationMs,
        }
      : null,
  }
}

const JUMPS = [
  ['answer', 'Answer'],
  ['sent', 'Sent'],
  ['signature', 'Signature'],
] as const

/** The other deliveries of the event, and those that were resent by hand from this one or to it, maybe with a new id: the newest first. */
function Related({ row }: { readonly row: PlacedRow }): JSX.Element | null {
  const isResent = ({ id, resendOf }: PlacedRow) => id === row.resendOf || resendOf === row.id
  const isSame = ({ event, account }: PlacedRow) => event === row.event && account === row.account
  const isRelated = (each: PlacedRow) => each.id !== row.id && (isResent(each) || isSame(each))
  const found = useStore(() => JSON.stringify(store.rows.all.filter(isRelated).map(({ id }) => id)))
  const rows = (JSON.parse(found) as string[]).flatMap((id) => store.rows.find(id) ?? []) // ids, as written above
  if (rows.length === 0) return null
  return (
    <div class="section">
      <h2>{count(rows.length, 'related delivery', 'related deliveries')}</h2>
      <ul>
        {rows.slice(0, 10).map(({ id, last, resendOf, webhook, at }) => (
          <li key={id}>
            <ViewLink view={{ delivery: id }}>{resendOf === null ? 'sent' : 'resent by hand'}</ViewLink>{' '}
            <Result last={last} />{' '}
            <span class="dim">
              {store.urlOf(webhook)} · <Ago at={last?.at ?? at} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function Parts({ detail, row }: { readonly detail: DeliveryDetail; readonly row: PlacedRow }): JSX.Element {
  const signature = useSignature(detail.id)
  const [chosen, setChosen] = useState<number>()
  const shown = detail.attempts.find(({ number }) => number === chosen) ?? detail.attempts.at(-1)
  return (
    <div class="parts">
      <VerdictView detail={detail} row={row} />
      <Actions row={row} onRetry={() => setChosen(undefined)} />
      <nav class="bar jumps" aria-label="Sections">
        {JUMPS.map(([id, name]) => (
          <Button key={id} class="plain" label={name} onClick={() => document.getElementById(id)?.scrollIntoView()} />
        ))}
      </nav>
      <Timeline detail={detail} shown={shown} onChoose={setChosen} />
      <Related row={row} />
      {shown !== undefined && <AnswerView attempt={shown} />}
      {hasInbox() && row.last?.code === 'accepted' && <InboxSection row={row} />}
      {detail.attempts.length > 1 && <DiffView attempts={detail.attempts} />}
      <BodyView detail={detail} signatures={signature.value?.sent ?? []} />
      <SignatureView signature={signature} signing={detail.signing} isDelivered={row.status === 'success'} />
    </div>
  )
}

function Actions({ row, onRetry }: { readonly row: PlacedRow; readonly onRetry: () => void }): JSX.Element {
  const { id, signing } = row
  const why = whyNotResent(row)
  const disabled = why !== undefined
  const webhook = store.webhook(row.webhook)
  const again = async () => {
    if (await retry(id)) onRetry()
  }
  return (
    <div class="bar actions">
      <Button class="main" label="Resend" hotkey="r" {...{ disabled, title: why }} onClick={() => resend(id)} />
      <Button
        label="Edit & resend"
        hotkey="e"
        {...{ disabled, title: why }}
        onClick={() => store.set({ dialog: { kind: 'edit', id } })}
      />
      {row.status === 'failed' && row.resendOf === null && (
        <Button label="Retry" title="Calls the manual retry of the service" onClick={again} />
      )}
      <details class="menu">
        <summary>More</summary>
        <div class="items">
          {(['curl', 'test', 'fixture', 'id', 'url', 'body', 'headers'] as const).map((form) => (
            <Button key={form} label={`Copy ${COPIES[form][0]}`} onClick={() => copyDelivery(id, form)} />
          ))}
          <Button label="Resend 8 at the same time" disabled={disabled} onClick={() => resend(id, { count: 8 })} />
          <Button label={store.pinned.has(id) ? 'Unpin' : 'Pin'} onClick={() => store.pin(id)} />
          {webhook !== undefined && (
            <Button
              label={webhook.active ? 'Pause its webhook…' : 'Resume its webhook'}
              onClick={() => pauseOrResume(webhook)}
            />
          )}
        </div>
      </details>
      {signing !== 'valid' && <span class="tag">signed wrong on purpose: {nameSigning(signing)}</span>}
    </div>
  )
}
