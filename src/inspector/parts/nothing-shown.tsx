import type { JSX } from 'preact'
import { copyText } from '../model/actions.ts'
import { follow, go, goTo, readAddress } from '../model/address.ts'
import type { ShownList } from '../model/list.ts'
import { page } from '../model/page-model.ts'
import { ui } from '../model/ui.ts'
import { Empty, Key } from './small.tsx'

/** An empty list, with the next step. */
export function NothingShown({ list }: { readonly list: ShownList }): JSX.Element {
  const { query } = readAddress()
  const webhooks = page.state?.webhooks ?? []
  if (page.state === undefined)
    return <Empty title={page.link === 'stopped' ? 'The emulator does not answer' : 'Loading'} />
  if (list.fresh > 0) return <Empty title="New deliveries are held back while you read" />
  if (query !== '' && list.total > 0)
    return (
      <Empty title={`0 of ${list.total} match this filter`}>
        <button type="button" onClick={() => go({ query: '' }, false)}>
          Clear the filter
        </button>
      </Empty>
    )
  if (webhooks.length === 0) return <NoWebhook />
  if (webhooks.every(({ active }) => !active))
    return (
      <Empty title="Every webhook is paused">
        <button type="button" onClick={() => goTo('webhooks')}>
          Open webhooks
        </button>
      </Empty>
    )
  return (
    <Empty title={list.cleared > 0 ? 'The list is cleared' : 'No deliveries yet'}>
      <p>
        Events go to {webhooks.length === 1 ? <code>{webhooks[0]?.url}</code> : `${webhooks.length} webhooks`}. Trigger
        the first one, or change a record.
      </p>
      <button type="button" class="main" onClick={() => ui.open({ kind: 'trigger' })}>
        Trigger an event <Key name="t" />
      </button>
    </Empty>
  )
}

function NoWebhook(): JSX.Element {
  const command = `npx postern dev --forward http://localhost:3000/webhooks --env .env.local`
  return (
    <Empty title="No webhook is registered">
      <p>
        Register one on the{' '}
        <a href="?screen=webhooks" onClick={(event) => follow(event, () => goTo('webhooks'))}>
          webhooks
        </a>{' '}
        screen or through the service's API, or start the emulator with your app's URL:
      </p>
      <pre class="command">{command}</pre>
      <button type="button" onClick={() => copyText(command, 'command')}>
        Copy the command
      </button>
    </Empty>
  )
}
