import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { ModelCount, Row } from '../../emulator/contract.ts'
import { useCall } from '../detail/use-detail.ts'
import { Dialog, useDraft } from '../dialogs/dialog.tsx'
import { act } from '../model/actions.ts'
import { go, readAddress } from '../model/address.ts'
import { api } from '../model/api.ts'
import { store, useStore } from '../model/store.ts'
import { Button, Confirm, Field, Fields } from '../parts/fields.tsx'
import { Empty, Notes, Table, useTime } from '../parts/small.tsx'
import { findJsonProblem } from '../text/edit-body.ts'

type Record = Readonly<{ [field: string]: unknown }>

const SUGGESTED = ['contact', 'opportunity', 'financeInvoice']
const MOST_SHOWN = 200
const TO_CREATE = 'Create one: its event fires when you save it.'

/** Records by account and model. Saving one fires its event. */
export function Records(): JSX.Element | null {
  const accounts = useStore(() => store.state?.accounts)
  return accounts === undefined ? null : <RecordList accounts={accounts.map(({ key }) => key)} />
}

function RecordList({ accounts }: { readonly accounts: readonly string[] }): JSX.Element {
  const { account = accounts[0] ?? '', model = 'contact' } = useStore(readAddress)
  const [version, setVersion] = useState(0)
  const last = useLastOf(account, model)
  const where = `records/${encodeURIComponent(model)}`
  const query = `?accountKey=${encodeURIComponent(account)}`
  const { value: records = [], error } = useCall<readonly Record[]>(`GET ${where}${query}`, `${version} ${last}`)
  const { value: counts = [] } = useCall<readonly ModelCount[]>('GET records', `${version} ${last}`)
  const call = async (line: string, event: string, body?: object, removed: readonly string[] = []) => {
    const whole = [line + query, ...removed.map(encodeURIComponent)].join('&remove=')
    const isDone = await act(() => api(whole, body), `${model}.${event} goes to the webhooks that subscribe to it`)
    setVersion((before) => before + 1)
    return isDone
  }
  const open = (record: Record | undefined, line: string, event: string) => {
    const save: FormOptions['save'] = (body, removed) => call(line, event, body, removed)
    const draw = () => <RecordForm {...{ account, model, record, event, save }} />
    store.set({ dialog: { kind: 'form', draw } })
  }
  const rows = records.slice(0, MOST_SHOWN).map((record) => {
    const id = String(record._id)
    const line = `${where}/${encodeURIComponent(id)}`
    const question = `Delete ${id}? ${model}.deleted fires.`
    return {
      key: id,
      cells: [
        <>
          <Button class="plain" label={id} onClick={() => open(record, `PUT ${line}`, 'updated')} />
          <small>{summarize(record)}</small>
        </>,
        <Confirm label="Delete…" verb="Delete" question={question} onYes={() => call(`DELETE ${line}`, 'deleted')} />,
      ],
    }
  })
  return (
    <>
      <div class="bar">
        <Field label="Account" options={accounts} value={account} onInput={(key) => go({ account: key }, false)} />
        <Field
          label="Model"
          size={16}
          list={[...new Set([...SUGGESTED, ...counts.map((each) => each.model)])]}
          value={model}
          onInput={(name) => go({ model: name.trim() || undefined }, false)}
        />
        <span class="push" />
        <Button
          class="main"
          label={`New ${model}`}
          hotkey="+"
          onClick={() => open(undefined, `POST ${where}`, 'created')}
        />
      </div>
      <Notes problem={error} />
      {records.length === 0 && <Empty title={`${account} has no ${model} records`} text={TO_CREATE} />}
      {records.length > 0 && <Table name="Records" columns={[['Record'], ['Actions', 'number']]} rows={rows} />}
      {records.length > MOST_SHOWN && <p class="dim">and {records.length - MOST_SHOWN} more</p>}
    </>
  )
}

/** Number of the last event of a record of that account and model. It is looked for once a second, however many come. */
function useLastOf(account: string, model: string): number | undefined {
  const second = useTime((now) => Math.floor(now / 1_000), true)
  const isOfModel = (row: Row) => row.account === account && row.type.startsWith(`${model}.`)
  return useMemo(() => store.rows.all.find(isOfModel)?.made, [second, account, model])
}

function summarize({ _id, ...fields }: Record): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
    .slice(0, 200)
}

function findNoObject(json: string): string | undefined {
  const value: unknown = JSON.parse(json)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? undefined : 'a record must be a JSON object'
}

/** The fields that the user changed. Others are not sent: they may have changed since. */
function findChanges(before: Record, after: Record): Record {
  const isChanged = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(before[name])
  return Object.fromEntries(Object.entries(after).filter(isChanged))
}

function findRemoved(before: Record, after: Record): readonly string[] {
  return Object.keys(before).filter((name) => !Object.hasOwn(after, name))
}

const CONTACT = { firstName: 'Zoë', lastName: 'Okafor', email: 'zoe@example.test', status: 'active' }

interface FormOptions {
  readonly account: string
  readonly model: string
  /** Undefined for a new one. */
  readonly record: Record | undefined
  readonly event: string
  readonly save: (body: object, removed: readonly string[]) => Promise<boolean>
}

function RecordForm({ account, model, record, event, save }: FormOptions): JSX.Element {
  const start = record ?? (model === 'contact' ? CONTACT : { name: 'A first one' })
  const name = JSON.stringify([account, model, start])
  const { values, set, forget } = useDraft(name, () => ({ text: JSON.stringify(start, null, 2) }))
  const problem = findJsonProblem(values.text) ?? findNoObject(values.text)
  const value = problem === undefined ? JSON.parse(values.text) : undefined
  const submit = async () => {
    const isDone = await (record ? save(findChanges(record, value), findRemoved(record, value)) : save(value, []))
    if (isDone) forget()
    return isDone
  }
  return (
    <Dialog
      title={record === undefined ? `New ${model} of ${account}` : `${model} ${record._id} of ${account}`}
      verb="Save"
      disabled={problem !== undefined}
      onSubmit={submit}
    >
      <Fields shapes={{ text: { label: 'Fields as JSON', rows: 12, autofocus: true } }} values={values} onInput={set} />
      <Notes text={`Fires ${model}.${event}${record && ' with the fields that you change'}.`} problem={problem} />
    </Dialog>
  )
}
