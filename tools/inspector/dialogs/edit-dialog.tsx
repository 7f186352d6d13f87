import type { DeliveryDetail } from '../../emulator/contract.ts'
import { toPretty } from '../../wire/json.ts'
import { SIGNING_OPTIONS } from '../../wire/signings.ts'
import { BODY_FORMS } from '../detail/body-view.tsx'
import { useDetail } from '../detail/use-detail.ts'
import { sendCopy } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { Fields, Switch } from '../parts/fields.tsx'
import { findJsonProblem, makeEventId, readField, replaceId } from '../text/edit-body.ts'
import { Dialog, useDraft } from './dialog.tsx'

/** Opens the body of a delivery, to edit it and send it, with a new signature or one that is wrong in one way. */
export function openEdit(id: string): void {
  store.set({ dialog: () => <EditDialog id={id} /> })
}

function EditDialog({ id }: { readonly id: string }) {
  const { value, error } = useDetail(id)
  if (value !== undefined) return <EditForm detail={value} />
  if (error === undefined) return null
  return (
    <Dialog title="Edit and send">
      <p role="alert">{error}</p>
    </Dialog>
  )
}

const NOT_UTF8 =
  'Parts of this body are not UTF-8, and any edit changes them. The exact form, unedited, sends the exact bytes.'

function EditForm({ detail: { id, body } }: { readonly detail: DeliveryDetail }) {
  const original = body.text
  const start = () => ({ body: toPretty(original), form: 'pretty', keepsId: false, signing: 'valid' })
  const { values, set, forget } = useDraft(`edit ${id}`, start)
  const { form, signing } = values
  const wrong = findJsonProblem(values.body)
  const notJson = wrong && `Not JSON (${wrong}). It is sent anyway, and a receiver answers 400.`
  const shapes = {
    body: {
      ...{ label: 'Body, sent exactly as it is written here', rows: 14, autofocus: true },
      problem: original.includes('\ufffd') ? NOT_UTF8 : notJson,
    },
    keepsId: { label: 'keep the event id, so that it is a duplicate' },
    signing: { label: 'Signature', options: SIGNING_OPTIONS },
  }
  const send = async () => {
    const sent = renew(values.body, original, values.keepsId)
    const isSame = sent === original && signing !== 'stale-bytes'
    await sendCopy(id, { ...(!isSame && { body: sent }), sign: signing })
    forget()
  }
  return (
    <Dialog title="Edit and send" verb="Send" onSubmit={send}>
      <Switch
        options={BODY_FORMS}
        value={form}
        onInput={(next) => set({ ...values, form: next, body: next === 'exact' ? original : toPretty(values.body) })}
      />
      <Fields key={form} shapes={shapes} values={values} onInput={set} />
    </Dialog>
  )
}

/** Returns the body to send: with a new id, unless the user keeps the old one or wrote another. */
function renew(body: string, original: string, keepsId: boolean): string {
  const own = readField(body, 'id')
  const isOld = own !== undefined && own === readField(original, 'id')
  return keepsId || !isOld ? body : replaceId(body, makeEventId())
}
