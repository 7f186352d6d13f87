import type { JSX } from 'preact'
import { useCall } from '../detail/use-detail.ts'
import { act, openMade } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { store } from '../model/store.ts'
import { Fields, Switch } from '../parts/fields.tsx'
import { Notes } from '../parts/small.tsx'
import { findJsonProblem, readPasted } from '../text/edit-body.ts'
import { Dialog, useDraft } from './dialog.tsx'

interface Emitted {
  readonly type: string
  readonly deliveries: readonly string[]
}

const FORMS = [
  ['event', 'An event'],
  ['body', 'A recorded body'],
] as const

const TYPE_SHAPE = { label: 'Type', autofocus: true, class: 'field' }
const EVENT_SHAPES = {
  data: { label: 'Data of the event', rows: 12 },
  id: { label: 'Event id', placeholder: 'a new one' },
}
const BODY_SHAPES = {
  body: {
    label: 'The body as received, a copied fixture, or a line of “npx postern deliveries list --json”',
    rows: 14,
  },
}

type Wanted = Readonly<Record<'account' | 'type' | 'data' | 'id', string>>

async function sendEvent({ account, type, data, id }: Wanted): Promise<Emitted | undefined> {
  const event = { type, accountKey: account, ...(data && { data: JSON.parse(data) }), ...(id && { id }) }
  return (await api<{ readonly events: readonly Emitted[] }>('POST events', event)).events[0]
}

function sendBody(account: string, text: string): Promise<Emitted> {
  const pasted = readPasted(text)
  const sent = pasted?.base64 === undefined ? { body: pasted?.text } : { bodyBase64: pasted.base64 }
  return api('POST bodies', { ...sent, accountKey: account })
}

/** Triggers an event with data that the user can edit, or sends a body that was recorded elsewhere. */
export function TriggerDialog(): JSX.Element {
  const accounts = store.state?.accounts.map(({ key }) => key) ?? []
  const { values, set } = useDraft('trigger', () => ({
    form: 'event' as 'event' | 'body',
    account: accounts[0] ?? '',
    type: firstType(),
    id: '',
    body: '',
    data: undefined as string | undefined, // the sample, until the user edits it, and when the field is emptied
  }))
  const { form, account, type, body } = values
  const { value } = useCall<{ readonly data?: unknown }>(`GET samples/${encodeURIComponent(type)}`, '')
  const sample = JSON.stringify(value?.data, null, 2) ?? ''
  const data = values.data ?? sample
  const { value: types = [] } = useCall<readonly string[]>('GET types', '')
  const accountShape = { label: 'Account', options: accounts }
  const shapes = { type: { ...TYPE_SHAPE, list: listTypes(types) }, ...EVENT_SHAPES }
  const pasted = readPasted(body)
  const problem = form === 'event' ? data && findJsonProblem(data) : pasted || body === '' ? undefined : NO_BODY
  const send = () =>
    act(async () => {
      const made = await (form === 'event' ? sendEvent({ ...values, data }) : sendBody(account, body))
      set({ ...values, data: undefined, id: '', body: '' })
      const [first] = made?.deliveries ?? []
      if (first === undefined)
        store.say(`nothing was sent: no active webhook of ${account} subscribes to ${made?.type ?? type}`, true)
      else openMade(first)
    })
  return (
    <Dialog
      title={form === 'event' ? 'Trigger an event' : 'Send a recorded body'}
      verb="Send"
      disabled={Boolean(problem) || (form === 'event' ? type === '' : pasted === undefined)}
      onSubmit={send}
    >
      <Switch options={FORMS} value={form} onInput={(next) => set({ ...values, form: next })} />
      <Fields
        shapes={form === 'event' ? { account: accountShape, ...shapes } : { account: accountShape, ...BODY_SHAPES }}
        values={{ ...values, data }}
        onInput={(next) => set({ ...next, data: ['', sample].includes(next.data) ? undefined : next.data })}
      />
      <Notes text={form === 'body' ? BYTES : undefined} problem={problem} />
    </Dialog>
  )
}

const NO_BODY = 'This is neither the body of an event nor a line that contains one.'
const BYTES = 'The exact bytes go to the webhooks of the account that subscribe to the type, signed with their secrets.'

function firstType(): string {
  return listTypes(['contact.created'])[0] ?? ''
}

/** The types of all webhooks, and then others. */
function listTypes(others: readonly string[]): readonly string[] {
  const wanted = store.state?.webhooks.filter(({ active }) => active).flatMap(({ events }) => events) ?? []
  return [...new Set([...wanted, ...others])].filter((type) => !type.includes('*'))
}
