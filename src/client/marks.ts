import type { Webhook } from './records.ts'

// A mark at the end of its description identifies a webhook that this client created: no other field of a webhook holds free text. A
// list may hold webhooks of the same URL that others created, with other events.

const MARK = /(?:^| )\(postern(?:, replaces (\S+))?\)$/

/** Appends the mark of `ensureWebhook`, or of a rotation, to a description. Replaces an existing mark. */
export function toDescription(text: string | undefined, replaces?: string): string {
  const mark = replaces === undefined ? '(postern)' : `(postern, replaces ${replaces})`
  return `${(text ?? '').replace(MARK, '')} ${mark}`.trimStart()
}

/** Returns true if `ensureWebhook` created the webhook. */
export function isMade({ description }: Webhook): boolean {
  const match = MARK.exec(description ?? '')
  return match !== null && match[1] === undefined
}

/** Returns the id of the webhook that this one was created to replace, if any. */
export function readReplaced({ description }: Webhook): string | undefined {
  return MARK.exec(description ?? '')?.[1]
}
