import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveryDetail, Row, SignatureSteps } from '../../emulator/contract.ts'
import { closeDetail } from '../model/actions.ts'
import { toPath } from '../model/api.ts'
import { store, useStore } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Empty } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'
import { AnswerView } from './answer-view.tsx'
import { Attempts } from './attempts.tsx'
import { BytesView } from './body-view.tsx'
import { Copy, DetailTitle, Headers } from './facts.tsx'
import { InboxSection } from './inbox-section.tsx'
import { SignatureView } from './signature-view.tsx'
import { useCall, useDetail } from './use-detail.ts'
import { Verdict } from './verdict.tsx'

const KEPT =
  'The emulator keeps the last 10,000 deliveries, none of a webhook that was deleted, and without --data none of a previous run.'

/** One delivery: its state with advice, its attempts and answers, its body and its signature. */
export function Detail({ id }: { readonly id: string }): JSX.Element {
  const { value, error, isRefused } = useDetail(id)
  const listed = useStore(() => store.rows.find(id))
  const isKnown = listed !== undefined
  const older = useCall<Row>(isKnown ? undefined : `GET rows/${encodeURIComponent(id)}`, '')
  const row = listed ?? older.value
  useStore(() => store.state)
  const url = value?.attempts.at(-1)?.url ?? store.urlOf(row?.webhook ?? '')
  return (
    <section class="detail" aria-label="Delivery" data-id={id}>
      <DetailTitle title={row?.type ?? 'Delivery'} onClose={() => closeDetail(id)}>
        {row !== undefined && (
          <p class="mono dim">
            {escapeHidden(row.event)} <Copy text={row.event} what="event id" /> · {row.account} ·{' '}
            {url || 'deleted webhook'} {url !== '' && <Copy text={url} what="URL" />}
          </p>
        )}
      </DetailTitle>
      {value !== undefined && row !== undefined && !isRefused ? (
        <Parts detail={value} row={row} url={url} />
      ) : (
        <Empty title={error ?? 'Loading'} text={error && KEPT}>
          <Button label="Back to the list" hotkey="Esc" onClick={() => closeDetail(id)} />
        </Empty>
      )}
    </section>
  )
}

interface PartsOptions {
  readonly detail: DeliveryDetail
  readonly row: Row
  readonly url: string
}

function Parts({ detail, row, url }: PartsOptions): JSX.Element {
  const signature = useCall<SignatureSteps>(`GET ${toPath(detail.id)}/signature`, '')
  const [chosen, setChosen] = useState<number>()
  const shown = detail.attempts.find(({ number }) => number === chosen) ?? detail.attempts.at(-1)
  return (
    <div class="parts">
      <Verdict {...{ row, detail, url }} onTry={() => setChosen(undefined)} />
      {row.inbox !== null && <InboxSection inbox={row.inbox} />}
      <Attempts detail={detail} row={row} shown={shown} onChoose={setChosen} />
      {shown !== undefined && <AnswerView attempt={shown} />}
      <BytesView title="Request" body={detail.body} />
      <Headers headers={shown?.requestHeaders ?? []} />
      <SignatureView signature={signature} signing={detail.signing} isDelivered={row.status === 'success'} />
    </div>
  )
}
