import { useRef } from 'preact/hooks'
import { findNearest } from '../../../src/protocol/nearest.ts'
import { useCall } from '../detail/use-detail.ts'
import { openMade } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { store } from '../model/store.ts'
import { Button, Fields, Switch } from '../parts/fields.tsx'
import { findDataProblem, readPasted } from '../text/edit-body.ts'
import { Dialog, useDraft } from './dialog.tsx'

interface Emitted {
  readonly type: string
  readonly deliveries: readonly string[]
}

const BODY_LABEL = 'The body as received, a copied fixture, or a line of “npx postern deliveries list --json”'
const NO_BODY = 'This is neither the body of an event nor a line that contains one.'
const BYTES = 'The exact bytes go to the webhooks of the account that subscribe to the type, signed with their secrets.'

async function sendEvent(account: string, type: string, data: string): Promise<Emitted | undefined> {
  const event = { type, accountKey: account, ...(data && { data: JSON.parse(data) }) }
  return (await api<{ readonly events: readonly Emitted[] }>('POST events', event)).events[0]
}

function sendBody(account: string, text: string): Promise<Emitted> {
  const { base64, text: body } = readPasted(text) ?? {}
  return api('POST bodies', { ...(base64 === undefined ? { body } : { bodyBase64: base64 }), accountKey: account })
}

export function openTrigger(): void {
  store.set({ dialog: () => <TriggerDialog /> })
}

function TriggerDialog() {
  const accounts = store.state?.accounts.map(({ key }) => key) ?? []
  const { values, set } = useDraft('trigger', () => ({
    form: 'event' as 'event' | 'body',
    account: accounts[0] ?? '',
    type: listTypes([])[0] ?? 'contact.created',
    body: '',
    data: '', // the sample, unless the user has edited it
  }))
  const { form, account, type, body } = values
  const { list, sample } = useSample(type)
  const data = values.data || sample
  const nearest = list.length === 0 || list.includes(type) ? undefined : findNearest(type, list)
  const put = (right: string) => <Button class="plain" label={right} onClick={() => set({ ...values, type: right })} />
  const dataProblem = data && findDataProblem(data)
  const isBody = readPasted(body) !== undefined
  const shapes = {
    account: { label: 'Account', options: accounts },
    ...(form === 'event'
      ? {
          type: { label: 'Type', autofocus: true, list, problem: nearest && <>Did you mean {put(nearest)}?</> },
          data: { label: 'Data of the event', rows: 12, problem: dataProblem },
        }
      : { body: { label: BODY_LABEL, rows: 14, problem: body !== '' && !isBody && NO_BODY } }),
  }
  const send = async () => {
    const made = await (form === 'event' ? sendEvent(account, type, data) : sendBody(account, body))
    const [first] = made?.deliveries ?? []
    if (first === undefined)
      throw new Error(`nothing was sent: no active webhook of ${account} subscribes to ${made?.type ?? type}`)
    set({ ...values, data: '', body: '' })
    openMade(first)
  }
  return (
    <Dialog
      title={form === 'event' ? 'Trigger an event' : 'Send a recorded body'}
      verb="Send"
      disabled={form === 'event' ? type === '' || Boolean(dataProblem) : !isBody}
      onSubmit={send}
    >
      <Switch
        options={[
          ['event', 'An event'],
          ['body', 'A recorded body'],
        ]}
        value={form}
        onInput={(next) => set({ ...values, form: next })}
      />
      <Fields
        shapes={shapes}
        values={{ ...values, data }}
        onInput={(next) => set({ ...next, data: next.data === sample ? '' : next.data })}
      />
      {form === 'body' && <p class="dim">{BYTES}</p>}
    </Dialog>
  )
}

/** The known types, and the sample of one: while another is typed, the last one stays. */
function useSample(type: string): { readonly list: readonly string[]; readonly sample: string } {
  const { value: types = [] } = useCall<readonly string[]>('GET types', '')
  const list = listTypes(types)
  const { value } = useCall<{ readonly data?: unknown }>(`GET samples/${encodeURIComponent(type)}`, '')
  const sample = useRef('')
  if (list.includes(type) && value !== undefined) sample.current = JSON.stringify(value.data, null, 2) ?? ''
  return { list, sample: sample.current }
}

function listTypes(others: readonly string[]): readonly string[] {
  const wanted = store.state?.webhooks.filter(({ active }) => active).flatMap(({ events }) => events) ?? []
  return [...new Set([...wanted, ...others])].filter((type) => !type.includes('*'))
}
