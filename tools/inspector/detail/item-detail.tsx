import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import type { InboxDetail } from '../../emulator/inspector/inbox-shapes.ts'
import { closeDetail } from '../model/actions.ts'
import { toItemPath } from '../model/inbox.ts'
import { store, useStore } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Ago, At, Empty, Icon, In } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'
import { count } from '../text/count.ts'
import { BytesView } from './body-view.tsx'
import { Copy, DetailTitle, Facts } from './facts.tsx'
import { ItemActions, Tries } from './tries.tsx'
import { useCall } from './use-detail.ts'

/** One accepted event: its state, its tries, and its body on request. */
export function ItemDetail({ itemKey }: { readonly itemKey: string }): JSX.Element {
  const version = useStore(() => store.inbox.version)
  const {
    value,
    error,
    isRefused: isGone,
  } = useCall<InboxDetail>(`GET ${toItemPath('item', itemKey)}`, String(version))
  const back = <Button label="Back to the list" hotkey="Esc" onClick={() => closeDetail(itemKey)} />
  const title = value === undefined ? 'Event' : `${value.type} · ${value.account}`
  return (
    <section class="detail" aria-label="Event of the inbox">
      <DetailTitle title={title} onClose={() => closeDetail(itemKey)}>
        <p class="mono dim">
          {escapeHidden(value?.event ?? itemKey)} <Copy text={value?.event ?? itemKey} what="event id" />
        </p>
      </DetailTitle>
      {value === undefined && <Empty title={error ?? 'Loading'}>{back}</Empty>}
      {value !== undefined && (
        <div class="parts">
          {isGone ? (
            <div class="verdict">
              <p>{error}</p>
              <div class="bar">{back}</div>
            </div>
          ) : (
            <Standing item={value} />
          )}
          {!isGone && <ItemActions item={value} />}
          <Tries item={value} />
          <ItemFacts item={value} />
          {!isGone && <Body itemKey={itemKey} />}
        </div>
      )}
    </section>
  )
}

/** The state of an accepted event, in one line. */
function Standing({ item: { state, dueAt, failures, last } }: { readonly item: InboxDetail }): JSX.Element {
  const tries = failures === 0 ? 'first try' : `after ${count(failures, 'failed try', 'failed tries')}`
  const code = last && last.code !== 'dead_letter' ? `${last.code} · ` : ''
  const [sign, word, text] = {
    dead: ['✕', 'dead letter', ` · ${code}`],
    running: ['◌', 'a worker is running it', ''],
    waiting: [failures === 0 ? '○' : '↻', 'waiting', ` · ${tries} · `],
  }[state]
  return (
    <div class={state === 'dead' ? 'verdict bad' : 'verdict'}>
      <p class="line">
        <Icon sign={sign ?? ''} /> <b>{word}</b>
        {text}
        {state === 'dead' && <Ago at={dueAt} isReal />}
        {state === 'waiting' && <In at={dueAt} isReal />}
      </p>
      {last?.error && <p>{escapeHidden(last.error)}</p>}
      {last?.code === 'crashed' && <p>Its processes died while they ran this event and nothing else.</p>}
    </div>
  )
}

function ItemFacts({ item }: { readonly item: InboxDetail }): JSX.Element {
  const { key, state, receivedAt, since, deaths, marks, source, trace } = item
  const facts = [
    ['key', [escapeHidden(key), ' ', <Copy text={key} what="key" />]],
    ['received', <At at={receivedAt} />],
    ['last queued', (since === null || since !== receivedAt) && <At at={since} />],
    ['processes died', deaths > 0 && deaths],
    ['finished handlers', state === 'dead' && escapeHidden(marks.join(', ') || 'none')],
    ['source', source && escapeHidden(source)],
    ['trace', trace && escapeHidden(trace)],
  ] as const
  return <Facts facts={facts.filter(([, value]) => value)} />
}

/** The body, on request. */
function Body({ itemKey }: { readonly itemKey: string }): JSX.Element {
  const [isAsked, setAsked] = useState(false)
  const line = `GET ${toItemPath('body', itemKey)}`
  const { value, error } = useCall<DeliveryDetail['body']>(isAsked ? line : undefined, '')
  if (value !== undefined) return <BytesView title="Received" body={value} />
  return (
    <p>
      {!isAsked && <Button label="Show the body" onClick={() => setAsked(true)} />}{' '}
      <span class="dim">{isAsked ? (error ?? 'Loading') : 'It may contain personal data.'}</span>
    </p>
  )
}
