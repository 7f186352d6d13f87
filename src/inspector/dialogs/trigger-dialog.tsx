import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { useCall } from '../detail/use-detail.ts'
import { act, openMade } from '../model/actions.ts'
import { api } from '../model/api.ts'
import { store } from '../model/store.ts'
import { Button, Choice, Editor, NumberField, Switch, TextField } from '../parts/fields.tsx'
import { Problem } from '../parts/small.tsx'
import { adviseOnData, findJsonProblem, readPasted } from '../text/edit-body.ts'
import { DialogFrame } from './dialog-frame.tsx'

interface Emitted {
  readonly id: string
  readonly deliveries: readonly string[]
}

const LAST_TYPE = 'postern.type'
const FORMS = [
  ['event', 'An event'],
  ['body', 'A recorded body'],
] as const

/** Triggers an event with data that the user can edit, or sends a body that was recorded elsewhere. */
export function TriggerDialog(): JSX.Element {
  const [form, setForm] = useState<'event' | 'body'>('event')
  const accounts = store.state?.accounts.map(({ key }) => key) ?? []
  const [account, setAccount] = useState(accounts[0] ?? '')
  const Form = form === 'body' ? PasteForm : EventForm
  return (
    <Form account={account}>
      <div class="fields">
        <Switch options={FORMS} value={form} onInput={setForm} />
        <Choice label="Account" options={accounts} value={account} onInput={setAccount} />
      </div>
    </Form>
  )
}

interface FormOptions {
  readonly account: string
  readonly children: JSX.Element
}

/** Opens the first new delivery, or shows why there is none. */
function finish({ deliveries }: { readonly deliveries: readonly string[] }, account: string, type: string): void {
  store.set({ dialog: undefined })
  const [first] = deliveries
  if (first === undefined) store.say(`nothing was sent: no active webhook of ${account} subscribes to ${type}`, true)
  else openMade(first)
}

function EventForm({ account, children }: FormOptions): JSX.Element {
  const [type, setType] = useState(sessionStorage.getItem(LAST_TYPE) ?? firstType())
  const [data, setData, resetData] = useSample(type)
  const types = useTypes()
  const [count, setCount] = useState(1)
  const [id, setId] = useState('')
  const problem = data === '' ? undefined : findJsonProblem(data)
  const send = () => {
    if (problem !== undefined) return undefined
    sessionStorage.setItem(LAST_TYPE, type)
    return act(async () => {
      const { events } = await api<{ readonly events: readonly Emitted[] }>('POST events', {
        ...{ type, count, accountKey: account },
        ...(data !== '' && { data: JSON.parse(data) }),
        ...(id !== '' && { id }),
      })
      finish({ deliveries: events.flatMap(({ deliveries }) => deliveries) }, account, type)
    })
  }
  return (
    <DialogFrame title="Trigger an event" onSubmit={send}>
      {children}
      <TextField class="field" label="Type" autofocus list="types" value={type} onInput={setType} />
      <datalist id="types">
        {types.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Editor label="Data of the event" text={data} rows={12} onInput={setData} />
      <Problem text={problem} />
      <Advice account={account} type={type} data={problem === undefined ? data : ''} />
      <div class="fields">
        <NumberField label="Times" value={count} onInput={setCount} />
        <TextField label="Event id" placeholder="a new one" value={id} onInput={setId} />
        <span class="push" />
        <Button label="New sample" onClick={resetData} />
        <Button
          type="submit"
          class="main"
          label="Send"
          hotkey="Ctrl ⏎"
          disabled={problem !== undefined || type === ''}
        />
      </div>
    </DialogFrame>
  )
}

function Advice({ account, type, data }: Readonly<Record<'account' | 'type' | 'data', string>>): JSX.Element {
  const webhooks = store.state?.webhooks ?? []
  const isWanted = webhooks.some((each) => each.accountKey === account && each.active && takes(each.events, type))
  const advice = data === '' ? [] : adviseOnData(type, JSON.parse(data))
  return (
    <div role="status">
      <ul class="advice">
        {!isWanted && type !== '' && (
          <li>
            No active webhook of {account} subscribes to {type}, so nothing would be sent.
          </li>
        )}
        {advice.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </div>
  )
}

function PasteForm({ account, children }: FormOptions): JSX.Element {
  const [text, setText] = useState('')
  const pasted = text.trim() === '' ? undefined : readPasted(text)
  const problem =
    text.trim() !== '' && pasted === undefined
      ? 'This is neither the body of an event nor a line that contains one.'
      : undefined
  const send = () => {
    if (pasted === undefined) return undefined
    const body = pasted.base64 === undefined ? { body: pasted.text } : { bodyBase64: pasted.base64 }
    return act(async () => {
      const { type, deliveries } = await api<Emitted & { readonly type: string }>('POST bodies', {
        ...body,
        accountKey: account,
      })
      finish({ deliveries }, account, type)
    })
  }
  return (
    <DialogFrame title="Send a recorded body" onSubmit={send}>
      {children}
      <Editor
        label="The body as received, a copied fixture, or a line of “postern deliveries list --json”"
        text={text}
        rows={14}
        onInput={setText}
      />
      <Problem text={problem} />
      <div class="fields">
        <p class="dim">
          The exact bytes are sent to the webhooks of {account} that subscribe to the type, signed with their secrets.
        </p>
        <span class="push" />
        <Button type="submit" class="main" label="Send" disabled={pasted === undefined} />
      </div>
    </DialogFrame>
  )
}

function firstType(): string {
  return (
    store.state?.webhooks.find(({ active }) => active)?.events.find((type) => !type.includes('*')) ?? 'contact.created'
  )
}

function useTypes(): readonly string[] {
  const { value: types = [] } = useCall<readonly string[]>('GET types', '')
  const asked = store.state?.webhooks.flatMap(({ events }) => events) ?? []
  return [...new Set([...asked, ...types])].filter((type) => !type.includes('*'))
}

/** Loads sample data of a type, until the user edits it. */
function useSample(type: string): readonly [string, (data: string) => void, () => void] {
  const [edited, setEdited] = useState<string>()
  const [version, setVersion] = useState(0)
  const { value } = useCall<{ readonly data?: unknown }>(`GET samples/${encodeURIComponent(type)}`, `${version}`)
  const reset = () => {
    setEdited(undefined)
    setVersion(version + 1)
  }
  return [edited ?? JSON.stringify(value?.data, null, 2) ?? '', setEdited, reset]
}

function takes(events: readonly string[], type: string): boolean {
  const isMatched = store.state?.assumed.wildcards === 'matched'
  return events.some(
    (event) =>
      event === type || (isMatched && new RegExp(`^${event.replace(/[.]/g, '\\.').replace('*', '.*')}$`).test(type)),
  )
}
