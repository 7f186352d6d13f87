import type { JSX } from 'preact'
import type { Row } from '../../emulator/contract.ts'
import type { InboxOfEvent } from '../../emulator/inspector/inbox-shapes.ts'
import { toEventPath } from '../model/inbox.ts'
import { store, useStore } from '../model/store.ts'
import { ViewLink } from '../parts/small.tsx'
import { Standing } from './item-detail.tsx'
import { ItemActions, Tries } from './tries.tsx'
import { useCall } from './use-detail.ts'

const GONE = 'The inbox no longer holds the event: a worker has handled it, or a user dropped it.'
const NOT_FOUND =
  'Not found. The event was handled or dropped, or its receiver has a name that the page does not know: it learns names from the events that the screen Inbox has listed.'

/** State of an accepted delivery in the inbox of the receiver. */
export function InboxSection({ row }: { readonly row: Row }): JSX.Element {
  const version = useStore(() => store.inbox.version)
  const { value, error } = useCall<InboxOfEvent>(`GET ${toEventPath(row.account, row.event)}`, String(version))
  const item = value?.item
  return (
    <section class="section" aria-label="Inbox">
      <h2>
        Inbox{' '}
        {item && (
          <ViewLink view={{ screen: 'inbox', state: item.state, item: item.key }}>open it in the inbox</ViewLink>
        )}
        {error !== undefined && <span class="problem">{error}</span>}
      </h2>
      {item && (
        <>
          <Standing item={item} />
          <ItemActions item={item} />
          <Tries item={item} />
        </>
      )}
      {item === null && <p class="verdict">{value?.isSure ? GONE : NOT_FOUND}</p>}
    </section>
  )
}
