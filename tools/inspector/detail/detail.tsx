import { useEffect, useRef, useState } from 'preact/hooks'
import type { DeliveryDetail, Row, SignatureSteps } from '../../emulator/contract.ts'
import type { InboxDetail } from '../../emulator/inspector/inbox-shapes.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { closeDetail } from '../model/actions.ts'
import { readAddress } from '../model/address.ts'
import { toPath } from '../model/api.ts'
import { toItemPath } from '../model/inbox.ts'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Empty, Url } from '../parts/small.tsx'
import { AnswerView, Attempts } from './attempts.tsx'
import { BytesView, Copy, Headers } from './body-view.tsx'
import { BodyOnRequest, InboxPart } from './inbox-part.tsx'
import { SignatureView } from './signature-view.tsx'
import { useCall, useDetail } from './use-detail.ts'
import { Verdict } from './verdict.tsx'

const KEPT = 'The emulator keeps the last 10,000 deliveries, and without --data none of a previous run.'

export function Detail({ id }: { readonly id: string }) {
  const isEvent = readAddress().screen === 'inbox'
  const delivery = useDetail(isEvent ? undefined : id)
  const listed = store.find(id)
  const older = useCall<Row>(isEvent || listed ? undefined : `GET rows/${encodeURIComponent(id)}`, '')
  const known = listed ?? older.value
  const { key, state = '' } = known?.inbox ?? {}
  const itemKey = isEvent ? id : /^(waiting|running|dead)$/.test(state) ? key : undefined
  const item = useCall<InboxDetail>(itemKey && `GET ${toItemPath('item', itemKey)}`, JSON.stringify(known?.inbox))
  const row = known ?? item.value?.row
  const { error, isRefused } = isEvent ? item : delivery
  const url = delivery.value?.attempts.at(-1)?.url ?? store.urlOf(row?.webhook ?? '')
  const isLoaded = (isEvent ? item : delivery).value !== undefined && !isRefused
  return (
    <section class="detail column" aria-label={isEvent ? 'Event of the inbox' : 'Delivery'} data-id={id}>
      <Title id={id} row={row} url={url} />
      {row !== undefined && isLoaded ? (
        <Parts row={row} detail={delivery.value} item={item.value} />
      ) : (
        <div class="scroll">
          <Empty title={error ?? 'Loading'} text={error && !isEvent ? KEPT : undefined}>
            <Button label="Back to the list" hotkey="Esc" onClick={() => closeDetail(id)} />
            {item.value && <InboxPart item={item.value} now={known} />}
          </Empty>
        </div>
      )}
    </section>
  )
}

interface PartsOptions {
  readonly row: Row
  readonly detail: DeliveryDetail | undefined
  readonly item: InboxDetail | undefined
}

function Parts({ row, detail, item }: PartsOptions) {
  const signature = useCall<SignatureSteps>(detail && `GET ${toPath(detail.id)}/signature`, '')
  const [chosen, setChosen] = useState<number>()
  const shown = detail?.attempts.find(({ number }) => number === chosen) ?? detail?.attempts.at(-1)
  return (
    <div class="parts column">
      <Verdict {...{ row, detail }} onTry={() => setChosen(undefined)} />
      {item !== undefined && <InboxPart item={item} now={row} />}
      {detail === undefined ? (
        <BodyOnRequest itemKey={row.id} />
      ) : (
        <>
          <Attempts detail={detail} row={row} shown={shown} onChoose={setChosen} />
          {shown !== undefined && <AnswerView attempt={shown} />}
          <BytesView title="Request" body={detail.body} />
          <Headers headers={shown?.requestHeaders ?? []} />
          <SignatureView signature={signature} signing={detail.signing} isDelivered={row.status === 'success'} />
        </>
      )}
    </div>
  )
}

function Title({ id, row, url }: { readonly id: string; readonly row: Row | undefined; readonly url: string }) {
  const { description = '' } = store.webhook(row?.webhook ?? '') ?? {}
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // On a narrow screen the detail hides the list, and with it the element that had the focus.
    if (matchMedia('(max-width: 860px)').matches) heading.current?.focus()
  }, [])
  return (
    <header class="title bar">
      <h1 ref={heading} tabIndex={-1}>
        {escapeHidden(row?.type ?? 'Event')}
      </h1>
      <Button class="quiet" label="✕" aria-label="Close (Esc)" onClick={() => closeDetail(id)} />
      {row !== undefined && (
        <p class="mono dim">
          {escapeHidden(row.event)} <Copy text={row.event} what="event id" /> · {row.account}
          {row.webhook !== '' && (
            <>
              {' '}
              · {escapeHidden(description && `${description} · `)}
              <Url url={url || 'deleted webhook'} />
            </>
          )}
        </p>
      )}
    </header>
  )
}
