import type { Answer } from '../../tools/check/case.ts'
import type { Judged } from '../../tools/check/find-late.ts'

/** Makes an answer of the receiver: 200 and nothing else, or what the changes say. */
export function toAnswer(changes: Partial<Answer> = {}): Answer {
  return {
    status: 200,
    isUnreachable: false,
    words: 'OK',
    headers: {},
    body: Promise.resolve(''),
    isWhole: Promise.resolve(true),
    ms: 4.6,
    ...changes,
  }
}

/** No answer, since the receiver cut the connection. */
export const CUT: Answer = toAnswer({
  status: undefined,
  words: '',
  failureKind: 'reset',
  failure: 'the connection ended without an answer',
})

/** Makes an answer that puts the delivery off for a minute. */
export const putOff = (status: number): Answer => toAnswer({ status, headers: { 'retry-after': '60' } })

/** Makes a failed check with these answers. */
export function toJudged(id: string, answers: readonly Answer[], changes: Partial<Judged> = {}): Judged {
  return { id, group: 'time', status: 'fail', answers, ...changes }
}
