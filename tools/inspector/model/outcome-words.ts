/** Outcomes of events: the icon, the word, and the value of `status:` that finds them. */
export const OUTCOMES = {
  dead: ['✕', 'dead', 'dead'],
  failed: ['✕', 'failed', 'failed'],
  repaired: ['–', 'failed, then handled by a copy', 'success'],
  copied: ['–', 'handled by a copy, next try', 'success'],
  refused: ['–', 'refused, as asked', 'success'],
  retrying: ['↻', 'next try', 'retrying'],
  resending: ['◌', 'sending', 'retrying'],
  waiting: ['○', 'first try', 'pending'],
  sending: ['◌', 'sending', 'pending'],
  paused: ['‖', 'paused', 'pending'],
  accepted: ['…', 'in an inbox', 'pending'],
  inbox: ['…', 'in the inbox', 'pending'],
  running: ['◌', 'working', 'pending'],
  handled: ['✓', 'handled', 'success'],
  delivered: ['✓', 'delivered', 'success'],
  ignored: ['–', 'ignored', 'success'],
  dropped: ['–', 'dropped', 'success'],
  left: ['–', 'left the inbox', 'success'],
} as const

export type Outcome = keyof typeof OUTCOMES

export type Status = (typeof OUTCOMES)[Outcome][2]

/** Names of an outcome in a filter, beside that of its status: the words of its column, whole or the first one. */
export function namesOf(outcome: Outcome): readonly string[] {
  const word = OUTCOMES[outcome][1]
  return [word, word.split(/[ ,]/, 1)[0] ?? '']
}
