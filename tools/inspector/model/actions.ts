import type { DeliveryDetail, SignatureSteps, WebhookShape } from '../../emulator/contract.ts'
import { toCurl, toFixture, toVitest } from '../text/copies.ts'
import { go } from './address.ts'
import { api, describeError, toPath } from './api.ts'
import { reloadState } from './connection.ts'
import { refreshInbox } from './inbox.ts'
import { release } from './list.ts'
import { store } from './store.ts'

/** Runs an action of the user, and shows its error if it fails. */
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

/** Makes a change through the control interface, and loads the new state. */
export function change(line: string, body?: object, done?: string): Promise<boolean> {
  return act(async () => {
    await api(line, body)
    await reloadState()
  }, done)
}

/** Opens a delivery that was just made. New rows are no longer held back, so that the list shows it. */
export function openMade(id: string): void {
  release()
  go({ screen: 'deliveries', delivery: id })
}

/** Returns to the list, and focuses the row of the delivery or the event. */
export function closeDetail(key: string): void {
  go({ delivery: undefined, item: undefined })
  focusSoon(`[data-key="${CSS.escape(key)}"]`)
}

/** Focuses an element of the list once the page has drawn it. */
export function focusSoon(selector: string): void {
  setTimeout(() => document.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true }), 50)
}

let isActing = false

/** Replays or drops an event of the inbox, and loads the new state. Ignores further calls while one is running, such as a second press. */
export async function actOnItem(work: (key: string) => Promise<void>, key: string, done: string): Promise<void> {
  if (isActing) return
  isActing = true
  await act(() => work(key).finally(() => refreshInbox()), done)
  isActing = false
}

/** Sends a delivery once more, with the same bytes unless `fields` has a body, and opens the new one. */
export function resend(id: string, fields: { body?: string; sign?: string } = {}): Promise<boolean> {
  return act(async () => {
    openMade((await api<{ readonly id: string }>(`POST ${toPath(id)}/resend`, fields)).id)
  })
}

/** Calls the manual retry of the service: one more attempt of the same delivery. */
export function retry(id: string): Promise<boolean> {
  return act(() => api(`POST ${toPath(id)}/retry`), 'retried')
}

function setActive(webhookId: string, active: boolean): Promise<boolean> {
  return change(`PUT webhooks/${webhookId}`, { active }, active ? 'webhook resumed' : 'webhook paused')
}

/** Resumes a webhook; asks before it pauses one. */
export function pauseOrResume({ id, url, active }: WebhookShape): void {
  if (!active) setActive(id, true)
  else {
    const question = `No delivery is sent to ${url} until you resume it.`
    store.set({ dialog: { kind: 'ask', question, verb: 'Pause', onYes: () => setActive(id, false) } })
  }
}

/** Moves a manual clock. */
export function moveClock(move: { readonly advance: string } | { readonly next: true }): Promise<boolean> {
  return act(async () => {
    const { moved } = await api<{ readonly moved?: boolean }>('POST clock', move)
    if (moved === false) store.say('no attempt is planned')
    await reloadState()
  })
}

/** Forms in which a delivery can be copied. */
export const COPIES = {
  curl: ['curl command', toCurl],
  test: ['vitest test', toVitest],
  fixture: ['fixture line', toFixture],
} as const

export function copyDelivery(id: string, form: keyof typeof COPIES): Promise<boolean> {
  return act(async () => {
    const [detail, steps] = await Promise.all([
      api<DeliveryDetail>(`GET ${toPath(id)}`),
      api<SignatureSteps>(`GET ${toPath(id)}/signature`),
    ])
    const [name, write] = COPIES[form]
    const url = detail.attempts.at(-1)?.url ?? store.urlOf(detail.webhookId)
    await copyText(write({ ...detail, ...steps, url }), name)
  })
}

/** Copies a text. Without a clipboard, as outside of a secure context, shows it for copying by hand. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    store.say(`${what} copied`)
  } catch {
    store.set({ dialog: { kind: 'text', title: `Copy the ${what}`, text } })
  }
}
