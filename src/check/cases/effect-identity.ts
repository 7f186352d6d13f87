import type { Case } from '../case.ts'
import { describeWithWait, isSuccess, notAccepted } from '../verdict.ts'
import { readRuns, withProbe } from './with-probe.ts'

const agoOf = (ms: number) => new Date(Date.now() - ms).toISOString()

/** Checks that the receiver tells events apart by their ids, and by nothing else. */
export const effectIdentity: readonly Case[] = [
  {
    id: 'effect-each-event',
    level: 'fail',
    sends:
      'Two contact.updated events of the same record, each with its own id; the second is later, and changes the name.',
    expects: 'The probe reports that the work of both was done.',
    why: 'A record changes more than once. A receiver that remembers the id of the record takes the second change for a duplicate, and loses it.',
    fix: 'Remember the id of the event, not the _id of its record.',
    run: withProbe(async (scene) => {
      const { make, send } = scene
      const record = make.contact()
      const update = (lastName: string, ms: number) =>
        make.event({ type: 'contact.updated', timestamp: agoOf(ms), data: { record: { ...record, lastName } } })
      const [first, second] = [update('First', 2_000), update('Second', 1_000)]
      const answer = await send(make.delivery(first))
      if (!isSuccess(answer)) return notAccepted(answer)
      if ((await readRuns(scene, first.id)) === 0)
        return { status: 'skipped', reason: 'the work of contact.updated events is not counted' }
      const last = await send(make.delivery(second))
      if ((await readRuns(scene, second.id)) > 0) return { status: 'pass', reason: 'both were done' }
      return { status: 'fail', reason: `the second was not done: ${describeWithWait(last)}` }
    }),
  },
  {
    id: 'effect-similar-ids',
    level: 'warn',
    sends:
      'Pairs of events with nearly equal ids: they differ in the case of one letter, or in the last of 200 characters.',
    expects: 'The probe reports that the work of each was done; otherwise a warning.',
    why: 'The form of ids is not documented. Many databases ignore case when they compare text (MySQL, SQL Server), or truncate it: the receiver then takes one event for a duplicate of another, answers 2xx, and loses it.',
    fix: 'Compare ids byte by byte (with a binary collation, such as utf8mb4_bin) in a column that is long enough, or store a hash of the id.',
    run: withProbe(async (scene) => {
      const { make, send } = scene
      const { id: start } = make.event()
      const long = `${start}_`.padEnd(199, 'x')
      const pairs = [
        { what: 'in the case of a letter', ids: [`${start}_a`, `${start}_A`] },
        { what: 'in the last of 200 characters', ids: [`${long}a`, `${long}b`] },
      ]
      let isSeen = false
      for (const { what, ids } of pairs) {
        for (const [at, id] of ids.entries()) {
          const answer = await send(make.delivery({ ...make.event(), id }))
          if (!isSuccess(answer) && at === 0) break // another check reports it
          if (!isSuccess(answer)) return { status: 'warn', reason: `ids differ ${what}: ${describeWithWait(answer)}` }
          const isDone = (await readRuns(scene, id)) > 0
          if (!isDone && at === 0) break
          if (!isDone) return { status: 'warn', reason: `ids differ ${what}: the work of the second was not done` }
          isSeen = true
        }
      }
      return isSeen
        ? { status: 'pass', reason: 'each was done' }
        : { status: 'skipped', reason: 'none was accepted and done' }
    }),
  },
]
