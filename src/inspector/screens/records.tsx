import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ModelCount } from '../../emulator/contract.ts'
import { useCall } from '../detail/use-detail.ts'
import { act } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { api } from '../model/api.ts'
import { remember, store, useStore } from '../model/store.ts'
import { Button, Choice, Confirm, Editor } from '../parts/fields.tsx'
import { Empty, Problem } from '../parts/small.tsx'
import { adviseOnData, findJsonProblem } from '../text/edit-body.ts'

type Fields = Readonly<Record<string, unknown>>

const SUGGESTED = ['contact', 'opportunity', 'financeInvoice']
const MOST_SHOWN = 200

/** Records by account and model. Saving one fires its event. */
export function Records(): JSX.Element | null {
  const accounts = useStore(() => store.state?.accounts)
  return accounts === undefined ? null : <RecordList accounts={accounts.map(({ key }) => key)} />
}

/** Changes when an event of a record of that account and model was delivered. */
function useEventsOf(account: string, model: string): number {
  const findLast = useMemo(
    () =>
      remember(
        () => [store.rows.version],
        () => store.rows.all.find((row) => row.account === account && row.type.startsWith(`${model}.`))?.made ?? 0,
      ),
    [account, model],
  )
  const last = useStore(findLast)
  const [taken, setTaken] = useState(last)
  // At most once a second, however many come.
  useEffect(() => {
    const timer = setTimeout(() => setTaken(last), 1_000)
    return () => clearTimeout(timer)
  }, [taken, last !== taken])
  return taken
}

function RecordList({ accounts }: { readonly accounts: readonly string[] }): JSX.Element {
  const address = useStore(readAddress)
  const account = address.account ?? accounts[0] ?? ''
  const model = address.model ?? 'contact'
  const [version, setVersion] = useState(0)
  const [open, setOpen] = useState<string>()
  const seen = `${version} ${useEventsOf(account, model)}`
  const where = encodeURIComponent(model)
  const query = `accountKey=${encodeURIComponent(account)}`
  const { value: records = [], error } = useCall<readonly Fields[]>(`GET records/${where}?${query}`, seen)
  const { value: counts = [] } = useCall<readonly ModelCount[]>('GET records', seen)
  const change = async (line: string, event: string, body?: object) => {
    const isDone = await act(() => api(`${line}?${query}`, body), `${event} goes to the webhooks that subscribe to it`)
    if (isDone) setOpen(undefined)
    setVersion(version + 1)
  }
  return (
    <>
      <Bar {...{ accounts, account, model, counts }} onNew={() => setOpen(open === '' ? undefined : '')} />
      <Problem text={error} />
      {open === '' && (
        <RecordForm
          key="new"
          model={model}
          record={undefined}
          onSave={(body) => change(`POST records/${where}`, `${model}.created`, body)}
        />
      )}
      {records.length === 0 && open !== '' && (
        <Empty title={`${account} has no ${model} records`} text="Create one: its event fires when you save it." />
      )}
      {records.slice(0, MOST_SHOWN).map((record) => {
        const id = String(record._id)
        const line = `records/${where}/${encodeURIComponent(id)}`
        return (
          <RecordCard
            key={id}
            model={model}
            record={record}
            isOpen={open === id}
            onOpen={() => setOpen(open === id ? undefined : id)}
            onSave={(body) => change(`PUT ${line}`, `${model}.updated`, body)}
            onDelete={() => change(`DELETE ${line}`, `${model}.deleted`)}
          />
        )
      })}
      {records.length > MOST_SHOWN && <p class="dim">and {records.length - MOST_SHOWN} more</p>}
    </>
  )
}

interface BarOptions {
  readonly accounts: readonly string[]
  readonly account: string
  readonly model: string
  readonly counts: readonly ModelCount[]
  readonly onNew: () => void
}

function Bar({ accounts, account, model, counts, onNew }: BarOptions): JSX.Element {
  const models = [...new Set([...SUGGESTED, model, ...counts.map((each) => each.model)])]
  return (
    <div class="bar">
      <Choice label="Account" options={accounts} value={account} onInput={(key) => go({ account: key }, false)} />
      <Choice label="Model" options={models} value={model} onInput={(name) => go({ model: name }, false)} />
      <input
        type="text"
        class="mono"
        size={9}
        placeholder="another model"
        aria-label="Another model"
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.currentTarget.value === '') return
          go({ model: event.currentTarget.value.trim() }, false)
          event.currentTarget.value = ''
        }}
      />
      <span class="push" />
      <Button class="main" label={`New ${model}`} onClick={onNew} />
    </div>
  )
}

interface CardOptions extends FormOptions {
  readonly record: Fields
  readonly isOpen: boolean
  readonly onOpen: () => void
  readonly onDelete: () => Promise<unknown>
}

function RecordCard({ model, record, isOpen, onOpen, onSave, onDelete }: CardOptions): JSX.Element {
  const { _id, ...fields } = record
  return (
    <section class="card record" aria-label={String(_id)}>
      <header>
        <Button class="plain mono" label={String(_id)} aria-expanded={isOpen} onClick={onOpen} />
        {!isOpen && <span class="summary">{summarize(fields)}</span>}
        <Confirm label="Delete…" question={`Delete ${String(_id)}?`} verb="Delete" onYes={onDelete} />
      </header>
      {isOpen && <RecordForm model={model} record={record} onSave={onSave} />}
    </section>
  )
}

function summarize(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
    .slice(0, 200)
}

interface FormOptions {
  readonly model: string
  readonly record: Fields | undefined
  readonly onSave: (body: object) => void
}

function findNoObject(json: string): string | undefined {
  const value: unknown = JSON.parse(json)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? undefined : 'a record must be a JSON object'
}

function findChanges(before: Fields, after: Fields): Fields {
  return Object.fromEntries(
    Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])),
  )
}

const CONTACT = { firstName: 'Zoë', lastName: 'Okafor', email: 'zoe@example.test', status: 'active' }

function RecordForm({ model, record, onSave }: FormOptions): JSX.Element {
  // The fields as they were when the form was opened. Those that the user leaves are not sent: they may have changed since.
  const [start] = useState<Fields>(record ?? (model === 'contact' ? CONTACT : { name: 'A first one' }))
  const [text, setText] = useState(JSON.stringify(start, null, 2))
  const problem = findJsonProblem(text) ?? findNoObject(text)
  const value = problem === undefined ? JSON.parse(text) : undefined
  const advice = problem === undefined ? adviseOnData(`${model}.updated`, { record: { _id: 'new', ...value } }) : []
  const save = (event: Event) => {
    event.preventDefault()
    if (problem === undefined) onSave(record === undefined ? value : findChanges(start, value))
  }
  return (
    <form onSubmit={save}>
      <Editor label="Fields as JSON" text={text} rows={Math.min(16, text.split('\n').length + 1)} onInput={setText} />
      <Problem text={problem} />
      {advice.map((each) => (
        <p key={each} class="dim">
          {each}
        </p>
      ))}
      <div class="bar">
        <span class="dim">
          Fires {model}.{record === undefined ? 'created' : 'updated with the fields that you change'}.
        </span>
        <span class="push" />
        <Button type="submit" class="main" label="Save" disabled={problem !== undefined} />
      </div>
    </form>
  )
}
