import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import type { InboxDetail } from '../../emulator/inspector/inbox-shapes.ts'
import { closeItem, copyText } from '../model/actions.ts'
import { toItemPath } from '../model/inbox.ts'
import { store, useStore } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Ago, Empty, Icon, In } from '../parts/small.tsx'
import { escapeHidden } from '../text/bytes.ts'
import { count } from '../text/count.ts'
import { showExact } from '../text/times.ts'
import { BytesView } from './body-view.tsx'
import { DetailTitle } from './detail-title.tsx'
import { ItemActions, Tries } from './tries.tsx'
import { useCall } from './use-detail.ts'

/** One accepted event: its state, its tries, and its body on request. */
export function ItemDetail({ itemKey }: { readonly itemKey: string }): JSX.Element {
  const version = useStore(() => store.inbox.version)
  const { value, error } = useCall<InboxDetail>(`GET ${toItemPath('item', itemKey)}`, String(version))
  const isGone = error !== undefined
  return (
    <section class="detail" aria-label="Event of the inbox">
      <DetailTitle title={escapeHidden(value?.type ?? 'Event')} onClose={() => closeItem(itemKey)}>
        {escapeHidden(value === undefined ? itemKey : `${value.event} · ${value.account}`)}
      </DetailTitle>
      {value === undefined && isGone && <Empty title={error} />}
      {value !== undefined && (
        <div class="parts">
          {isGone ? <p class="verdict">{error}</p> : <Standing item={value} />}
          {!isGone && <ItemActions item={value} />}
          <Tries item={value} />
          <Facts item={value} />
          {!isGone && <Body itemKey={itemKey} />}
        </div>
      )}
    </section>
  )
}

/** The state of an accepted event, in one line. */
export function Standing({ item }: { readonly item: InboxDetail }): JSX.Element {
  const { state, dueAt, failures, last } = item
  return (
    <div class={state === 'dead' ? 'verdict bad' : 'verdict'}>
      {state === 'dead' && (
        <p class="line">
          <Icon sign="✕" /> <b>dead letter</b>
          {last && last.code !== 'dead_letter' && ` · ${last.code}`} · <Ago at={dueAt} isReal />
        </p>
      )}
      {state === 'running' && (
        <p class="line">
          <Icon sign="◌" /> <b>a worker is running it</b>
        </p>
      )}
      {state === 'waiting' && (
        <p class="line">
          <Icon sign={failures === 0 ? '○' : '↻'} /> <b>waiting</b> ·{' '}
          {failures === 0 ? 'first try' : `after ${count(failures, 'failed try', 'failed tries')}`} ·{' '}
          <In at={dueAt} isReal />
        </p>
      )}
      {last?.code === 'crashed' && <p>Its processes died while they ran this event and nothing else.</p>}
    </div>
  )
}

function Facts({ item }: { readonly item: InboxDetail }): JSX.Element {
  const isUtc = useStore(() => store.isUtc)
  const { key, state, receivedAt, since, deaths, marks, source, trace } = item
  const facts = [
    ['key', key],
    ['received', showExact(receivedAt, isUtc)],
    ['last queued', since !== null && since === receivedAt ? undefined : showExact(since, isUtc)],
    ['processes died', deaths === 0 ? undefined : String(deaths)],
    ['finished handlers', state === 'dead' ? marks.join(', ') || 'none' : undefined],
    ['source', source ?? undefined],
    ['trace', trace ?? undefined],
  ].filter((fact): fact is [string, string] => fact[1] !== undefined)
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {name === 'key' ? (
              <Button
                class="plain mono"
                label={escapeHidden(value)}
                title="Copy the key"
                onClick={() => copyText(value, 'key')}
              />
            ) : (
              escapeHidden(value)
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Body({ itemKey }: { readonly itemKey: string }): JSX.Element {
  const [isAsked, setAsked] = useState(false)
  if (isAsked) return <AskedBody itemKey={itemKey} />
  return (
    <p>
      <Button label="Show the body" onClick={() => setAsked(true)} />{' '}
      <span class="dim">It may contain personal data.</span>
    </p>
  )
}

function AskedBody({ itemKey }: { readonly itemKey: string }): JSX.Element {
  const { value, error } = useCall<DeliveryDetail['body']>(`GET ${toItemPath('body', itemKey)}`, '')
  if (value === undefined) return <p class="dim">{error ?? 'Loading'}</p>
  return <BytesView title="Received" body={value} />
}
