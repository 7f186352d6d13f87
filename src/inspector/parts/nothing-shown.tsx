import type { JSX } from 'preact'
import { copyText } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import type { ShownList } from '../model/list.ts'
import { store } from '../model/store.ts'
import { Button } from './fields.tsx'
import { Empty, ViewLink } from './small.tsx'

const COMMAND = 'npx postern dev --forward http://localhost:3000/webhooks --env .env.local'

/** An empty list, with the next step. */
export function NothingShown({ list }: { readonly list: ShownList }): JSX.Element {
  const { query } = readAddress()
  const webhooks = store.state?.webhooks ?? []
  if (store.state === undefined)
    return <Empty title={store.link === 'stopped' ? 'The emulator does not answer' : 'Loading'} />
  if (list.fresh > 0) return <Empty title="New deliveries are held back while you read" />
  if (query !== '' && list.total > 0)
    return (
      <Empty title={`0 of ${list.total} match this filter`}>
        <Button label="Clear the filter" onClick={() => go({ query: '' }, false)} />
      </Empty>
    )
  if (webhooks.length === 0)
    return (
      <Empty title="No webhook is registered">
        <p>
          Register one on the <ViewLink view={{ screen: 'webhooks' }}>webhooks</ViewLink> screen or through the
          service's API, or start the emulator with your app's URL:
        </p>
        <pre class="command">{COMMAND}</pre>
        <Button label="Copy the command" onClick={() => copyText(COMMAND, 'command')} />
      </Empty>
    )
  if (webhooks.every(({ active }) => !active))
    return (
      <Empty title="Every webhook is paused">
        <ViewLink view={{ screen: 'webhooks' }}>Open webhooks</ViewLink>
      </Empty>
    )
  return (
    <Empty title={list.cleared > 0 ? 'The list is cleared' : 'No deliveries yet'}>
      <p>
        Events go to {webhooks.length === 1 ? <code>{webhooks[0]?.url}</code> : `${webhooks.length} webhooks`}. Trigger
        the first one, or change a record.
      </p>
      <Button
        class="main"
        label="Trigger an event"
        hotkey="t"
        onClick={() => store.set({ dialog: { kind: 'trigger' } })}
      />
    </Empty>
  )
}
