import type { JSX } from 'preact'
import { showDuration } from '../../../src/host/duration.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../../src/protocol/schedule.ts'
import type { AttemptDetail, DeliveryDetail, Row } from '../../emulator/contract.ts'
import { readCode } from '../../wire/code-word.ts'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Ago, In, OutcomeView, ViewLink } from '../parts/small.tsx'

interface AttemptsOptions {
  readonly detail: DeliveryDetail
  readonly row: Row
  /** The attempt whose answer is shown. */
  readonly shown: AttemptDetail | undefined
  readonly onChoose: (number: number) => void
}

/** The attempts, those that are planned, and the other deliveries of the event. */
export function Attempts({ detail, row, shown, onChoose }: AttemptsOptions): JSX.Element {
  const { attempts, resendOf, status, nextAttemptAt } = detail
  const next = attempts.length + (status === 'pending' ? 1 : 0)
  const number = next > attempts.length && resendOf === undefined ? Math.max(MAX_ATTEMPTS, next) : next
  return (
    <section class="section column" id="attempts">
      <h2>Attempts</h2>
      <table>
        <tbody>
          {Array.from({ length: number }, (_, index) => {
            const attempt = attempts[index]
            const choose = () => onChoose(index + 1)
            const label = `Attempt ${index + 1}`
            return attempt === undefined ? (
              <tr key={index} class="dim">
                <td>{label}</td>
                <td>{describeGap(index, resendOf)}</td>
                <td>planned</td>
                <td>{index === attempts.length && nextAttemptAt !== null && <In at={nextAttemptAt} />}</td>
              </tr>
            ) : (
              <tr key={index} aria-current={attempt === shown || undefined}>
                <td>
                  <Button class="plain" label={label} aria-pressed={attempt === shown} onClick={choose} />
                </td>
                <td class="dim">{describeGap(index, resendOf)}</td>
                <td class={attempt.failure === undefined ? 'result' : 'result bad'}>
                  <b>{attempt.status ?? attempt.failure}</b> {readCode(attempt.responseBody)}
                </td>
                <td class="dim">
                  <Ago at={attempt.at} />
                </td>
              </tr>
            )
          })}
          <Related row={row} />
        </tbody>
      </table>
    </section>
  )
}

/** The planned delay before an attempt, divided by the retry scale. */
function describeGap(index: number, resendOf: string | undefined): string {
  if (index >= MAX_ATTEMPTS || resendOf !== undefined) return 'by hand'
  const scale = store.state?.settings.retryScale ?? 1
  return index === 0 ? '' : `+ ${showDuration((ATTEMPT_DELAYS_MS[index] ?? 0) / scale)}`
}

/** The other deliveries of the event, and those that were resent by hand from this one or to it, maybe with a new id: the newest first. */
function Related({ row }: { readonly row: Row }): JSX.Element {
  const isResent = ({ id, resendOf }: Row) => id === row.resendOf || resendOf === row.id
  const isSame = ({ event, account }: Row) => event === row.event && account === row.account
  const isRelated = (each: Row) => each.id !== row.id && (isResent(each) || isSame(each))
  return (
    <>
      {store.rows.all.filter(isRelated).map((each) => {
        const { id, last, resendOf, webhook, at } = each
        return (
          <tr key={id}>
            <td>
              <ViewLink view={{ open: id }}>{resendOf === null ? 'sent' : 'a copy'}</ViewLink>
            </td>
            <td class="dim">{webhook !== row.webhook && store.urlOf(webhook)}</td>
            <td>
              <OutcomeView row={each} />
            </td>
            <td class="dim">
              <Ago at={last?.at ?? at} />
            </td>
          </tr>
        )
      })}
    </>
  )
}
