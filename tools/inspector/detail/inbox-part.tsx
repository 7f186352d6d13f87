import { useState } from 'preact/hooks'
import { showDuration } from '../../../src/host/duration.ts'
import type { DeliveryDetail, Row } from '../../emulator/contract.ts'
import type { InboxDetail } from '../../emulator/inspector/inbox-shapes.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { toItemPath } from '../model/inbox.ts'
import { Button } from '../parts/fields.tsx'
import { Ago, Facts } from '../parts/small.tsx'
import { showExact } from '../text/show.ts'
import { BytesView, Stack } from './body-view.tsx'
import { useCall } from './use-detail.ts'

interface InboxPartOptions {
  readonly item: InboxDetail
  /** The event as it stands now; the item stays as it was last seen. */
  readonly now: Row | undefined
}

/** An event in the inbox of its receiver: its tries, the newest first, each with its error, and its facts. */
export function InboxPart({ item, now }: InboxPartOptions) {
  const { row, receivedAt, deaths, marks, source, trace } = item
  const { key = '', state } = row.inbox ?? {}
  const facts = [
    ['key', escapeHidden(key)],
    ['received', showExact(receivedAt)],
    ['processes died', deaths],
    ['finished handlers', state === 'dead' && escapeHidden(marks.join(', ') || 'none')],
    ['source', source && escapeHidden(source)],
    ['trace', trace && escapeHidden(trace)],
  ] as const
  return (
    <section class="section column" aria-label="Tries in the inbox">
      <h2>Tries</h2>
      {item.tries.length === 0 && now?.inbox?.state === 'waiting' && <p class="dim">No worker has tried it yet.</p>}
      <ol class="tries column">
        {item.tries.toReversed().map(({ n, startedAt, endedAt, code, error, worker }) => (
          <li key={n} value={n}>
            <p>
              <b class="result bad">{code}</b>{' '}
              <span class="dim">
                <Ago at={startedAt} isReal /> · took{' '}
                {showDuration(Date.parse(endedAt ?? '') - Date.parse(startedAt ?? ''))} · {worker}
              </span>
            </p>
            {error !== undefined && <Stack text={error} />}
          </li>
        ))}
      </ol>
      <Facts facts={facts.filter(([, value]) => value)} />
    </section>
  )
}

export function BodyOnRequest({ itemKey }: { readonly itemKey: string }) {
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
