import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { DeliveryDetail } from '../../emulator/contract.ts'
import { useDetail } from '../detail/use-detail.ts'
import { resend } from '../model/actions.ts'
import { store } from '../model/store.ts'
import { Button, Check, Choice, Editor, NumberField } from '../parts/fields.tsx'
import { findJsonProblem, makeEventId, readField, replaceId } from '../text/edit-body.ts'
import { SIGNING_OPTIONS } from '../text/explain.ts'
import { toPretty } from '../text/pretty-json.ts'
import { DialogFrame } from './dialog-frame.tsx'

/** Edits the body of a delivery and sends it, with a new signature or one that is wrong in one way. */
export function EditDialog({ id }: { readonly id: string }): JSX.Element {
  const { value, error } = useDetail(id)
  if (value === undefined)
    return (
      <DialogFrame title="Edit and resend">
        <p>{error ?? 'Loading'}</p>
      </DialogFrame>
    )
  return <EditForm detail={value} />
}

function EditForm({ detail }: { readonly detail: DeliveryDetail }): JSX.Element {
  const original = detail.body.text
  const [body, setBody] = useState(original)
  const [keepsId, setKeepsId] = useState(false)
  const [signing, setSigning] = useState('valid')
  const [count, setCount] = useState(1)
  const problem = useMemo(() => findJsonProblem(body), [body])
  const isUnreadable = original.includes('\ufffd')
  const send = async () => {
    const sent = renew(body, original, keepsId)
    const isSame = sent === original && signing !== 'stale-bytes'
    if (await resend(detail.id, { ...(!isSame && { body: sent }), sign: signing, count }))
      store.set({ dialog: undefined })
  }
  return (
    <DialogFrame title="Edit and resend" onSubmit={send}>
      <Editor label="Body, sent exactly as it is written here" text={body} rows={14} hasFocus onInput={setBody} />
      <p class="dim" role="status">
        {problem !== undefined && `Not JSON (${problem}). It is sent anyway, and a receiver answers 400.`}
      </p>
      {isUnreadable && (
        <p class="problem">
          Parts of this body are not UTF-8. Any edit changes them; without an edit, the exact bytes are sent.
        </p>
      )}
      <div class="fields">
        <Check label="keep the event id" value={keepsId} onInput={setKeepsId} />
        <Button class="plain" label="Format the JSON" onClick={() => setBody(toPretty(body))} />
        <span class="dim">
          {keepsId
            ? 'A receiver that has handled it answers “duplicate”.'
            : 'It gets a new id, so that it is not a duplicate.'}
        </span>
      </div>
      <div class="fields">
        <Choice label="Signature" options={SIGNING_OPTIONS} value={signing} onInput={setSigning} />
        <NumberField label="Times" value={count} onInput={setCount} />
        <span class="push" />
        <Button type="submit" class="main" label="Send" hotkey="Ctrl ⏎" />
      </div>
      <p class="dim">
        {signing === 'valid'
          ? 'At most eight are sent at the same time.'
          : 'A receiver that checks signatures refuses it with 401.'}
      </p>
    </DialogFrame>
  )
}

/** Returns the body to send: with a new id, unless the user keeps the old one or wrote another. */
function renew(body: string, original: string, keepsId: boolean): string {
  const own = readField(body, 'id')
  const isOld = own !== undefined && own === readField(original, 'id')
  return keepsId || !isOld ? body : replaceId(body, makeEventId())
}
