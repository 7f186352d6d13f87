import { openTrigger } from '../dialogs/trigger-dialog.tsx'
import { copyText } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { listTexts, readWord, writeWord } from '../model/filter.ts'
import { hasInbox } from '../model/inbox.ts'
import { countMatching, type ShownList } from '../model/list.ts'
import { store } from '../model/store.ts'
import { Button } from './fields.tsx'
import { Empty, ViewLink } from './small.tsx'

const COMMAND = 'npx postern dev --forward http://localhost:3000/webhooks --env .env.local'

export function NothingShown({ list: { total } }: { readonly list: ShownList }) {
  const { query, screen } = readAddress()
  if (screen === 'inbox' && total === 0) return <NothingInInbox />
  if (screen === 'deliveries') {
    if (store.state === undefined) return <Empty title="Loading" />
    if (listTexts(query).some((text) => !store.found.has(text))) return <Empty title="Searching" />
  }
  if (readWord(query, 'status') === 'failed' && countMatching().retrying > 0) return <NothingFailed />
  if (query !== '' && total > 0)
    return (
      <Empty title={`0 of ${total} match this filter`} text={query}>
        <Button label="Clear the filter" onClick={() => go({ query: '' }, false)} />
      </Empty>
    )
  if (store.state?.webhooks.length === 0)
    return (
      <Empty title="No webhook is registered" text="Register one here, or start the emulator with your app's URL:">
        <pre>{COMMAND}</pre>
        <Button label="Copy the command" onClick={() => copyText(COMMAND, 'command')} />
        <ViewLink view={{ screen: 'webhooks' }}>Open webhooks</ViewLink>
      </Empty>
    )
  const urls = store.state?.webhooks.flatMap(({ active, url }) => (active ? [url] : [])) ?? []
  return (
    <Empty title="No deliveries yet" text={`Events go to ${urls.join(', ') || 'no webhook: all are paused'}.`}>
      <Button class="main" label="Trigger an event" onClick={openTrigger} />
    </Empty>
  )
}

export function NothingFailed() {
  const { retrying } = countMatching()
  if (retrying === 0) return <Empty title="Nothing has failed" />
  const show = () => go({ query: writeWord(readAddress().query, 'status', 'retrying') })
  return (
    <Empty title="Nothing has failed for good" text="Deliveries that failed so far are tried again.">
      <Button class="main" label={`Show ${retrying.toLocaleString('en')} retrying`} onClick={show} />
    </Empty>
  )
}

function NothingInInbox() {
  const { rows, error } = store.inbox
  const [title, text] =
    !hasInbox() && store.state !== undefined
      ? ['The emulator has no inbox', 'Start it with --inbox, and the URL or the file of the inbox.']
      : rows !== undefined
        ? ['The inbox is empty', 'An event waits here for a worker, and stays if it failed for good.']
        : [error === undefined ? 'Loading' : 'The inbox cannot be read', error]
  return <Empty title={title ?? ''} text={text} />
}
