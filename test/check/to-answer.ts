import type { Answer } from '../../src/check/case.ts'

/** Makes an answer of the receiver: 200 and nothing else, or what the changes say. */
export function toAnswer(changes: Partial<Answer> = {}): Answer {
  return {
    ...{ status: 200, isUnreachable: false, words: 'OK', headers: {}, body: '', ms: 4.6 },
    ...changes,
  }
}

/** No answer, since the receiver cut the connection. */
export const CUT: Answer = toAnswer({
  ...{ status: undefined, words: '', failureKind: 'reset' },
  failure: 'the connection ended without an answer',
})
