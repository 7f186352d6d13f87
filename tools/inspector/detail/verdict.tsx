import { MAX_ATTEMPTS } from '../../../src/protocol/schedule.ts'
import type { DeliveryDetail, Row } from '../../emulator/contract.ts'
import { readFailure, withoutAnswer } from '../../wire/code-word.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { nameSigning } from '../../wire/signings.ts'
import { openEdit } from '../dialogs/edit-dialog.tsx'
import {
  act,
  askToDrop,
  COPIES,
  copyDelivery,
  sendCopy,
  stopRetries,
  tryOnce,
  whyNotSent,
  whyNotTried,
} from '../model/actions.ts'
import { isInboxWritable } from '../model/inbox.ts'
import { isFailing, outcomeOf, reasonOf } from '../model/outcome.ts'
import { OUTCOMES } from '../model/outcome-words.ts'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { OutcomeView } from '../parts/small.tsx'
import { count } from '../text/show.ts'
import { Stack } from './body-view.tsx'

interface VerdictOptions {
  readonly row: Row
  readonly detail: DeliveryDetail | undefined
  readonly onTry: () => void
}

/** Outcome of the event and its reason, in one line, then advice and the actions, or these and the error of the handler. */
export function Verdict({ row, detail, onTry }: VerdictOptions) {
  const outcome = outcomeOf(row)
  const [icon] = OUTCOMES[outcome]
  const tone = isFailing(row) ? 'alarm' : icon === '✓' ? 'good' : ''
  const reason = reasonOf(row)
  const failure = row.inbox === null ? readFailure(detail?.attempts.at(-1)?.responseBody ?? '') : undefined
  const { last, advice } = row
  const answer = row.inbox === null && last ? [last.result, last.code].filter(Boolean).join(' ') : ''
  const why = withoutAnswer(reason?.text ?? '', last) || (reason?.text ?? '')
  const words = [
    reason?.handlers.length && `handler ${reason.handlers.join(', ')}`,
    !why.startsWith(answer) && answer,
    describeTries(row),
    row.signing !== 'valid' && `signed wrong on purpose: ${nameSigning(row.signing)}`,
    /^(retrying|waiting)$/.test(outcome) && store.state?.clock.isManual && 'the clock stands still',
  ].filter(Boolean)
  return (
    <div class={`verdict column ${tone}`}>
      <p>
        <OutcomeView row={row} />
        {why !== '' && ' · '}
        <b>{escapeHidden(why)}</b>
        {escapeHidden(` · ${words.join(' · ')}`)}
      </p>
      {failure === undefined && advice !== null && <p>{escapeHidden(advice)}</p>}
      <Actions row={row} onTry={onTry} />
      {failure !== undefined && failure.text !== reason?.text && <Stack text={failure.text} />}
    </div>
  )
}

function describeTries({ inbox, times, resendOf, webhook }: Row): string {
  if (inbox !== null && inbox.tried > 0) return `after ${count(inbox.tried, 'try', 'tries')}`
  if (webhook === '') return 'not tried yet'
  if (resendOf !== null) return 'a copy, sent by hand'
  const number = Math.max(1, times.length)
  return number > MAX_ATTEMPTS ? `attempt ${number}, by hand` : `attempt ${number} of ${MAX_ATTEMPTS}`
}

function Actions({ row, onTry }: Pick<VerdictOptions, 'row' | 'onTry'>) {
  const { id } = row
  const title = whyNotSent(row)
  const disabled = title !== undefined
  const canTry = whyNotTried(row) === undefined
  const forms = ['curl', 'test', 'fixture'] as const
  const { key, state } = row.inbox ?? {}
  const canDrop = isInboxWritable() && (state === 'waiting' || state === 'dead')
  return (
    <div class="bar actions">
      {canTry && (
        <Button
          class="main"
          label="Try again"
          hotkey="r"
          onClick={async (click) => click.detail <= 1 && (await tryOnce(id, row)) && onTry()}
        />
      )}
      {canDrop && key !== undefined && <Button class="danger" label="Drop…" onClick={() => askToDrop(row, key)} />}
      {outcomeOf(row) === 'copied' && <Button class="main" label="Stop the retries" onClick={() => stopRetries(id)} />}
      {row.webhook !== '' && (
        <>
          <Button label="Edit and send" hotkey="e" {...{ disabled, title }} onClick={() => openEdit(id)} />
          <details>
            <summary>More</summary>
            <div class="bar">
              <Button label="Send a copy" {...{ disabled, title }} onClick={() => act(() => sendCopy(id))} />
              {forms.map((form) => (
                <Button key={form} label={`Copy ${COPIES[form]}`} onClick={() => copyDelivery(id, form)} />
              ))}
            </div>
          </details>
        </>
      )}
    </div>
  )
}
