import type { Webhook } from './records.ts'

// What was made here is known by the end of its description: nothing else on a webhook is the owner's to write. A list may hold
// webhooks of the same URL that other people made, with other events.

const MARK = /(?:^| )\(postern(?:, replaces (\S+))?\)$/

/** A description with the mark of `ensureWebhook`, or of a rotation. Takes the place of a mark that is there. */
export function toDescription(text: string | undefined, replaces?: string): string {
  const mark = replaces === undefined ? '(postern)' : `(postern, replaces ${replaces})`
  return `${(text ?? '').replace(MARK, '')} ${mark}`.trimStart()
}

/** Whether `ensureWebhook` made it. */
export function isMade({ description }: Webhook): boolean {
  const match = MARK.exec(description ?? '')
  return match !== null && match[1] === undefined
}

/** The id of the webhook that it was made to replace, if it was. */
export function readReplaced({ description }: Webhook): string | undefined {
  return MARK.exec(description ?? '')?.[1]
}
