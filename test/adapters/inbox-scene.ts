import { setTimeout as sleep } from 'node:timers/promises'
import { createReceiver, type Inbox, type Outcome, type PosternError, type WebhookEvent } from 'postern'
import { signed, silentLogger } from 'postern/testing'
import { onTestFinished } from 'vitest'

const SECRET = 'whsec_inbox_scene'

/** A receiver with an inbox, the ids of the contacts that it handles, and its reports to its owner. */
export function makeScene(inbox: Inbox, options: Partial<Parameters<typeof createReceiver>[0]> = {}) {
  const errors: PosternError[] = []
  const seen: string[] = []
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    logger: silentLogger,
    onError: (error) => void errors.push(error),
    ...options,
  })
  onTestFinished(async () => void (await receiver.close({ timeoutMs: 0 })))
  receiver.on('contact.created', ({ id }) => void seen.push(id))
  const send = (event: WebhookEvent<string, unknown>): Promise<Outcome> => {
    return receiver.receive(signed(event, { secret: SECRET }))
  }
  /** The state of one query: an item that moves from running to waiting between two queries would be in neither. */
  const hasNone = async () => {
    const { waiting, running } = await inbox.counts()
    return waiting + running === 0
  }
  // SQLite counts one state after another, and misses an item whose state another process changes meanwhile.
  const isWorkedOff = async () => (await hasNone()) && (await sleep(50, true)) && (await hasNone())
  const untilWorkedOff = async () => {
    while (!(await isWorkedOff())) await sleep(20)
  }
  return { inbox, receiver, send, errors, seen, isWorkedOff, untilWorkedOff }
}
