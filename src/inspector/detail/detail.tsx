import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { COPIES, closeDelivery, copyDelivery, resend, retry, setActive } from '../model/actions.ts'
import { hasInbox } from '../model/inbox.ts'
import { whyNotResent } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import type { PlacedRow } from '../model/rows.ts'
import { ui } from '../model/ui.ts'
import { Button } from '../parts/fields.tsx'
import { Empty } from '../parts/small.tsx'
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
  const [chosen, setChosen] = useState<number>()
  const shown = detail.attempts.find(({ number }) => number === chosen) ?? detail.attempts.at(-1)
  return (
    <div class="parts">
      <VerdictView detail={detail} row={row} />
      <Actions row={row} onRetry={() => setChosen(undefined)} />
      <Timeline detail={detail} shown={shown} onChoose={setChosen} />
      {shown !== undefined && <AnswerView attempt={shown} />}
      {hasInbox() && row.last?.code === 'accepted' && <InboxSection row={row} />}
      {detail.attempts.length > 1 && <DiffView attempts={detail.attempts} />}
      <BodyView detail={detail} signatures={signature.value?.sent ?? []} />
      <SignatureView signature={signature} signing={detail.signing} />
    </div>
  )
}

function Actions({ row, onRetry }: { readonly row: PlacedRow; readonly onRetry: () => void }): JSX.Element {
  const { id, signing } = row
  const why = whyNotResent(row)
  const disabled = why !== undefined
  const webhook = page.webhook(row.webhook)
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
        onClick={() => ui.open({ kind: 'edit', id })}
      />
      {row.status === 'failed' && row.resendOf === null && (
        <Button label="Retry" title="Calls the manual retry of the service" onClick={again} />
      )}
      <details class="menu">
        <summary>More</summary>
        <div class="items">
          {(['curl', 'test', 'fixture', 'id'] as const).map((form) => (
            <Button key={form} label={`Copy ${COPIES[form][0]}`} onClick={() => copyDelivery(id, form)} />
          ))}
          <Button label="Resend 8 at the same time" disabled={disabled} onClick={() => resend(id, { count: 8 })} />
          <Button label={ui.pinned.has(id) ? 'Unpin' : 'Pin'} onClick={() => ui.pin(id)} />
          {webhook !== undefined && (
            <Button
              label={webhook.active ? 'Pause its webhook' : 'Resume its webhook'}
              onClick={() => setActive(webhook.id, !webhook.active)}
            />
          )}
        </div>
      </details>
      {signing !== 'valid' && <span class="tag">signed wrong on purpose: {nameSigning(signing)}</span>}
    </div>
  )
}
