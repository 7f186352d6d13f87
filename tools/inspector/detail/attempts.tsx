import { showDuration } from '../../../src/host/duration.ts'
import { ATTEMPT_DELAYS_MS, MAX_ATTEMPTS } from '../../../src/protocol/schedule.ts'
import type { AttemptDetail, DeliveryDetail, LastResult, Row } from '../../emulator/contract.ts'
import { readCode } from '../../wire/code-word.ts'
import { outcomeOf } from '../model/outcome.ts'
import { store } from '../model/store.ts'
import { Button } from '../parts/fields.tsx'
import { Ago, In, nameWebhook, OutcomeView, Result, Table, ViewLink } from '../parts/small.tsx'
import { showExact, showSize } from '../text/show.ts'
import { Headers, Pretty } from './body-view.tsx'

interface AttemptsOptions {
  readonly detail: DeliveryDetail
  readonly row: Row
  readonly shown: AttemptDetail | undefined
  readonly onChoose: (number: number) => void
}

const COLUMNS = [['Attempt'], ['After', 'dim'], ['Result'], ['When', 'dim']] as const

/** The attempts, those that are planned, and the other deliveries of the event. */
export function Attempts({ detail, row, shown, onChoose }: AttemptsOptions) {
  const { attempts, resendOf, status, nextAttemptAt } = detail
  const next = attempts.length + (status === 'pending' ? 1 : 0)
  const number = next > attempts.length && resendOf === undefined ? Math.max(MAX_ATTEMPTS, next) : next
  const rows = Array.from({ length: number }, (_, index) => {
    const attempt = attempts[index]
    const label = `Attempt ${index + 1}`
    const choose = () => onChoose(index + 1)
    const isNext = index === attempts.length
    const isNow = isNext && /sending$/.test(outcomeOf(row))
    const cells = attempt
      ? [
          <Button key={0} class="plain" label={label} aria-pressed={attempt === shown} onClick={choose} />,
          describeGap(index, resendOf),
          <Result key={2} last={toResult(attempt)} />,
          <Ago key={3} at={attempt.at} />,
        ]
      : [
          label,
          describeGap(index, resendOf),
          isNow ? 'sending' : 'planned',
          isNext && !isNow && <In at={nextAttemptAt} />,
        ]
    return { key: label, isCurrent: attempt !== undefined && attempt === shown, cells }
  })
  return (
    <section class="section column" id="attempts">
      <h2>Attempts</h2>
      <Table name="Attempts" columns={COLUMNS} rows={[...rows, ...listRelated(row)]} />
    </section>
  )
}

function describeGap(index: number, resendOf: string | undefined): string {
  if (index >= MAX_ATTEMPTS || resendOf !== undefined) return 'by hand'
  const scale = store.state?.settings.retryScale ?? 1
  return index === 0 ? '' : showDuration((ATTEMPT_DELAYS_MS[index] ?? 0) / scale)
}

/** The other deliveries of the event, and those that were resent by hand from this one or to it, maybe with a new id: the newest first. */
function listRelated({ id, event, account, webhook, resendOf }: Row) {
  const isRelated = (each: Row) =>
    each.id === resendOf || each.resendOf === id || (each.event === event && each.account === account)
  return store.rows.all
    .filter((each) => each.id !== id && isRelated(each))
    .map((each) => ({
      key: each.id,
      cells: [
        <ViewLink key={0} view={{ open: each.id }}>
          {each.resendOf === null ? 'sent' : 'a copy'}
        </ViewLink>,
        each.webhook !== webhook && nameWebhook(each.webhook),
        <OutcomeView key={2} row={each} />,
        <Ago key={3} at={each.last?.at ?? each.at} />,
      ],
    }))
}

function toResult({ status, failure, responseBody, at }: AttemptDetail): LastResult {
  return { result: `${status ?? failure}`, code: readCode(responseBody), isAcknowledged: failure === undefined, at }
}

export function AnswerView({ attempt }: { readonly attempt: AttemptDetail }) {
  const { number, status, failure, error, responseBody, responseCutAt, responseHeaders, at, durationMs } = attempt
  return (
    <section class="section column">
      <h2>
        Response <span class="dim">to attempt {number}</span>
      </h2>
      <p>
        <Result last={toResult(attempt)} />{' '}
        <span class="dim">{(status === undefined || failure === 'redirect') && error}</span>
      </p>
      {status !== undefined && (
        <>
          {responseBody === '' ? <p class="dim">The response has no body.</p> : <Pretty text={responseBody} />}
          {responseCutAt !== undefined && <p class="dim">The response was cut after {showSize(responseCutAt)}.</p>}
          <Headers headers={Object.entries(responseHeaders)} />
        </>
      )}
      <p class="dim">
        {describePhases(attempt)} · at {showExact(at)} · {showDuration(durationMs)} in total
      </p>
    </section>
  )
}

function describePhases({ phases: { connectMs, waitMs, bodyMs } = {}, status }: AttemptDetail): string {
  if (connectMs === undefined) return 'no connection'
  const show = (name: string, ms = -1) => (ms < 0 ? [] : [`${name} ${ms < 10 ? `${ms} ms` : showDuration(ms)}`])
  const wait = show(status === undefined ? 'no answer for' : 'wait', waitMs)
  return [...show('connect', connectMs), ...wait, ...show('body', bodyMs)].join(' · ')
}
