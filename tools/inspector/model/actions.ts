import type { Row, WebhookShape } from '../../emulator/contract.ts'
import { escapeHidden } from '../../wire/hidden.ts'
import { ask, showText } from '../dialogs/dialog.tsx'
import { go } from './address.ts'
import { api, describeError, toPath } from './api.ts'
import { reloadState } from './connection.ts'
import { changeInbox, hasInbox, isInboxWritable, refreshInbox } from './inbox.ts'
import { release } from './list.ts'
import { isFailing, outcomeOf, statusOf } from './outcome.ts'
import { OUTCOMES } from './outcome-words.ts'
import { store } from './store.ts'

export async function act(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work()
    if (done !== undefined) store.say(done)
    return true
  } catch (error) {
    store.say(describeError(error), true)
    return false
  }
}

/** Makes a change through the control interface, and loads the new state. Rejects if it fails. */
export async function change(line: string, body?: object, done?: string): Promise<void> {
  await api(line, body)
  if (done !== undefined) store.say(done)
  await reloadState()
}

/** Opens a delivery that was just made. New rows are no longer held back, so that the list shows it. */
export function openMade(id: string): void {
  release()
  go({ screen: 'deliveries', open: id })
}

/** Returns to the list, and focuses the row of the delivery or the event. */
export function closeDetail(key: string): void {
  go({ open: undefined })
  store.wanted = key
}

let isActing = false

/** Acts on one event. Ignores further calls while one is running, such as a second press. */
async function actOnce(work: () => Promise<unknown>, done: string): Promise<boolean> {
  if (isActing) return false
  isActing = true
  const isDone = await act(work, done)
  if (hasInbox()) await refreshInbox()
  isActing = false
  return isDone
}

export function askToDrop({ type, record, event }: Row, key: string): void {
  ask({
    title: 'Drop the event?',
    text: `${escapeHidden(`${type} · ${record ?? event}`)}. It is deleted for good, unhandled.`,
    verb: 'Drop',
    isDangerous: true,
    onSubmit: () =>
      changeInbox('drop', key)
        .finally(() => refreshInbox())
        .then(() => store.say('dropped')),
  })
}

export function whyNotTried(row: Row): string | undefined {
  const outcome = outcomeOf(row)
  if (outcome === 'repaired' || outcome === 'copied') return 'a copy of it was handled'
  if (outcome === 'resending') return 'it is being sent'
  const isLater = row.inbox?.state === 'waiting' && Date.parse(row.inbox.dueAt ?? '') > Date.now()
  if (!isLater && !isFailing(row) && outcome !== 'ignored') return `nothing has failed: it is ${OUTCOMES[outcome][1]}`
  if (row.inbox === null) return whyNotSent(row)
  return isInboxWritable() ? undefined : 'the inbox is read-only'
}

export function whyNotSent({ webhook }: Row): string | undefined {
  return store.webhook(webhook) === undefined ? 'the webhook is deleted' : undefined
}

/** Replays an event of the inbox, or makes its next try now; retries a failed delivery by hand, or makes its next attempt now. */
export function tryAgain({ id, inbox }: Pick<Row, 'id' | 'inbox'>): Promise<unknown> {
  return inbox !== null ? changeInbox('replay', inbox.key) : api(`POST ${toPath(id)}/retry`)
}

export const ENDS = ['handled', 'left the inbox, handled or dropped', 'failed again', 'under way'] as const

/** Returns how the try of a row ended. */
export function endOf(row: Row): (typeof ENDS)[number] {
  const now = store.find(row.id)
  const outcome = now && outcomeOf(now)
  if ((now === undefined && row.webhook === '') || outcome === 'left' || outcome === 'dropped') return ENDS[1]
  if (now === undefined) return 'under way'
  if (statusOf(now) === 'success') return 'handled'
  const triesOf = ({ inbox, times }: Row) => inbox?.tried ?? times.length
  return isFailing(now) && triesOf(now) > triesOf(row) ? 'failed again' : 'under way'
}

const TRIED = 'tried again'
const LOOK_EVERY_MS = 250
const LOOKS = 40

/** Says how a try ended, unless something else was said meanwhile. */
async function sayEnd(row: Row): Promise<void> {
  for (let looks = 0; looks < LOOKS && (store.toast?.text ?? TRIED) === TRIED; looks++) {
    const end = endOf(row)
    if (end !== 'under way') return store.say(`${TRIED}: ${end}`, end === 'failed again')
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

/** Tries one delivery again, or says why it cannot. One that was ignored has succeeded, and is sent as a copy: a receiver does not remember its event. */
export async function tryOnce(id: string, row = store.find(id)): Promise<boolean> {
  const reason = row && whyNotTried(row)
  if (row && reason === undefined && outcomeOf(row) === 'ignored')
    return actOnce(() => sendCopy(id), 'sent again as a copy')
  if (reason !== undefined) {
    store.say(reason, true)
    return false
  }
  const isDone = await actOnce(() => tryAgain(row ?? { id, inbox: null }), TRIED)
  if (isDone && row) void sayEnd(row)
  return isDone
}

/** Sends the bytes of a delivery as a new one, or the fields' body, and opens it. Rejects if it fails. */
export async function sendCopy(id: string, fields: { body?: string; sign?: string } = {}): Promise<void> {
  openMade((await api<{ readonly id: string }>(`POST ${toPath(id)}/resend`, fields)).id)
}

export function pauseOrResume({ id, url, active }: WebhookShape): void {
  const set = () => change(`PUT webhooks/${id}`, { active: !active }, active ? 'webhook paused' : 'webhook resumed')
  if (!active) act(set)
  else
    ask({
      title: 'Pause the webhook?',
      text: `No delivery is sent to ${url} until you resume it.`,
      verb: 'Pause',
      onSubmit: set,
    })
}

export async function moveClock(move: { readonly advance: string } | { readonly next: true }): Promise<void> {
  const { moved } = await api<{ readonly moved?: boolean }>('POST clock', move)
  if (moved === false) store.say('no attempt is planned')
  await reloadState()
}

export const COPIES = { curl: 'curl command', test: 'vitest test', fixture: 'fixture line' } as const

export function copyDelivery(id: string, form: keyof typeof COPIES): Promise<boolean> {
  return act(async () => {
    const { text } = await api<{ readonly text: string }>(`GET ${toPath(id)}/copies/${form}`)
    await copyText(text, COPIES[form])
  })
}

/** Ends the schedule of a delivery. What was handled by a copy needs no further attempt. */
export function stopRetries(id: string): Promise<boolean> {
  return act(() => api(`POST ${toPath(id)}/stop`), 'stopped: no further attempt is made')
}

/** Copies a text. Without a clipboard, as outside of a secure context, shows it for copying by hand. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    store.say(`${what} copied`)
  } catch {
    showText(`Copy the ${what}`, text)
  }
}
