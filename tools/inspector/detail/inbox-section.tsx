import type { JSX } from 'preact'
import type { InboxDetail, Standing } from '../../emulator/inspector/inbox-shapes.ts'
import { toItemPath } from '../model/inbox.ts'
import { ViewLink } from '../parts/small.tsx'
import { Tries } from './tries.tsx'
import { useCall } from './use-detail.ts'

/** The tries of an accepted delivery in the inbox of the receiver. */
export function InboxSection({ inbox: { key, state, ...rest } }: { readonly inbox: Standing }): JSX.Element | null {
  const isThere = state !== 'gone' && state !== 'dropped'
  const line = `GET ${toItemPath('item', key)}`
  const { value, error } = useCall<InboxDetail>(isThere ? line : undefined, JSON.stringify(rest))
  if (!isThere) return null
  return (
    <section aria-label="Inbox">
      <Tries item={value}>
        <ViewLink view={{ screen: 'inbox', state, item: key }}>open it in the inbox</ViewLink>
        {error !== undefined && <span class="problem">{error}</span>}
      </Tries>
    </section>
  )
}
