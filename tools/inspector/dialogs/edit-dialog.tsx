import type { JSX } from 'preact'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { toPretty } from '../../wire/json.ts'
import { useDetail } from '../detail/use-detail.ts'
import { sendCopy } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { Fields, Switch } from '../parts/fields.tsx'
import { findJsonProblem, makeEventId, readField, replaceId } from '../text/edit-body.ts'
import { SIGNING_OPTIONS } from '../text/explain.ts'
import { Dialog, useDraft } from './dialog.tsx'

/** Opens the body of a delivery, to edit it and send it, with a new signature or one that is wrong in one way. */
export function openEdit(id: string): void {
  store.set({ dialog: () => <EditDialog id={id} /> })
}

function EditDialog({ id }: { readonly id: string }): JSX.Element | null {
  const { value, error } = useDetail(id)
  if (value !== undefined) return <EditForm detail={value} />
  if (error === undefined) return null
  return (
    <Dialog title="Edit and send">
      <p role="alert">{error}</p>
    </Dialog>
  )
}

const FORMS = [
  ['pretty', 'Pretty'],
  ['exact', 'Exact'],
] as const

const SHAPES = {
  body: { label: 'Body, sent exactly as it is written here', rows: 14, autofocus: true },
  keepsId: { label: 'keep the event id' },
  signing: { label: 'Signature', options: SIGNING_OPTIONS },
}

function EditForm({ detail }: { readonly detail: DeliveryDetail }): JSX.Element {
  const original = detail.body.text
  const pretty = toPretty(original)
  const start = () => ({ body: pretty, form: 'pretty', keepsId: false, signing: 'valid' })
  const { values, set, forget } = useDraft(`edit ${detail.id}`, start)
  const { body, form, keepsId, signing } = values
  const problem = findJsonProblem(body)
  const send = async () => {
    const sent = renew(body, original, keepsId)
    const isSame = sent === original && signing !== 'stale-bytes'
    await sendCopy(detail.id, { ...(!isSame && { body: sent }), sign: signing })
    forget()
  }
  return (
    <Dialog title="Edit and send" verb="Send" onSubmit={send}>
      <Switch
        options={FORMS}
        value={form}
        onInput={(next) => set({ ...values, form: next, body: next === 'exact' ? original : toPretty(body) })}
      />
      <Fields key={form} shapes={SHAPES} values={values} onInput={set} />
      <p class="dim" role="status">
        {problem !== undefined && `Not JSON (${problem}). It is sent anyway, and a receiver answers 400. `}
        {keepsId
          ? 'A receiver that has handled the event answers “duplicate”.'
          : 'It gets a new id, so that it is not a duplicate.'}
        {signing !== 'valid' && ' A receiver that checks signatures refuses it with 401.'}
      </p>
      {original.includes('\ufffd') && (
        <p class="problem">
          Parts of this body are not UTF-8. Any edit changes them; the exact form without an edit sends the exact bytes.
        </p>
      )}
    </Dialog>
  )
}

/** Returns the body to send: with a new id, unless the user keeps the old one or wrote another. */
function renew(body: string, original: string, keepsId: boolean): string {
  const own = readField(body, 'id')
  const isOld = own !== undefined && own === readField(original, 'id')
  return keepsId || !isOld ? body : replaceId(body, makeEventId())
}
