import { createServer } from 'node:http'
import { checkReceiver, type Probe } from 'postern/check'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Scene, TestEvent, Verdict } from '../../tools/check/case.ts'
import { startCounting } from '../../tools/check/counting.ts'
import { forEachType, judgeAll, judgeWork, listTypes } from '../../tools/check/work.ts'
import { listen } from '../adapters/http/hosts.ts'
import { SECRET } from './faulty/hand-written.ts'
import { countingOf, play } from './play.ts'
import { toAnswer, toJudged } from './to-answer.ts'

type Changes = Readonly<Record<string, unknown>>
type Given = Changes & { readonly types?: readonly string[] }
const fail = async () => {}

/** Judges contacts of these changes in one check, of which the work of the first ones is done, and returns the status and the note. */
async function judge(changes: readonly Changes[], done: number, { types = ['contact.created'], ...given }: Given = {}) {
  const { scene } = await play([200], { patienceMs: 1 })
  const events = changes.map((change) => scene.make.event(change))
  const probe: Probe = { runs: async (id) => +(events.findIndex((event) => event.id === id) < done), fail }
  const answers = events.map((event) => toAnswer({ event }))
  const probed = { ...scene, probe, counting: () => countingOf(types), ...given }
  const { status, note } = await judgeWork(probed, toJudged('x', answers, { status: 'pass', ...given }))
  return note === undefined ? status : `${status}: ${note}`
}

it.each<readonly [what: string, result: string, changes: readonly Changes[], done: number]>([
  ['a new contact', 'fail: not done for 1 of 1', [{}], 0],
  ['new contacts, and one is done', 'fail: not done for 2 of 3', [{}, {}, {}], 1],
  ['a new contact, and it is done', 'pass', [{}], 1],
  ['another type', 'pass', [{ type: 'contact.updated' }], 0],
  ['another account', 'pass', [{ accountKey: 'other' }], 0],
  ['an address that is empty', 'pass', [{ data: { record: { _id: '1', status: 'active', email: '' } } }], 0],
  ['a contact that is not active', 'pass', [{ data: { record: { _id: '1', status: 'x', email: 'a' } } }], 0],
  ['no record', 'pass', [{ data: undefined }], 0],
])('acknowledged work is looked for: %s', async (_what, result, changes, done) => {
  expect(await judge(changes, done)).toBe(result)
})

it.each<readonly [what: string, result: string, given: Given]>([
  ['without work for new contacts', 'pass', { types: ['contact.updated'] }],
  [
    'whose work cannot be counted',
    'pass',
    { counting: () => ({ ...countingOf([]), types: Promise.reject(new Error('no')) }) },
  ],
  ['without a probe', 'pass', { probe: undefined }],
  ['that failed the check', 'fail', { status: 'fail' }],
])('is not looked for in a receiver %s', async (_what, result, given) => {
  expect(await judge([{}], 0, given)).toBe(result)
})

it('is not looked for if another event of the check has the same record', async () => {
  const data = { record: { _id: '1', status: 'active', email: 'a' } }
  const counting = vi.fn()
  expect(await judge([{ type: 'contact.updated', data }, { data }], 0, { counting })).toBe('pass')
  expect(counting).not.toHaveBeenCalled()
})

it('is counted for the types whose events show it, and a lost event is named', async () => {
  const { scene, seen } = await play([200], { patienceMs: 1 })
  const list = () => seen.map(({ body }) => JSON.parse(body))
  const counted = ['contact.created', 'contact.deleted', 'finance.payment.completed']
  const ofType = (type: string) => list().filter((event) => event.type === type)
  const runs = async (id: string) => {
    const { type } = list().find((event) => event.id === id)
    const isLost = type === 'finance.payment.completed' && ofType(type)[1]?.id === id
    return +(counted.includes(type) && !isLost)
  }
  const counting = startCounting({ ...scene, probe: { runs, fail }, wait: () => scene.wait(1) })
  expect(await counting.types).toEqual(counted)
  expect(await counting.losses).toEqual([{ type: 'finance.payment.completed', lost: 1, total: 2 }])
  const [updated, deleted] = ['updated', 'deleted'].map((action) => ofType(`opportunity.${action}`)[0].data.record)
  const created = ofType('opportunity.created').map(({ data }) => data.record)
  expect(created).toContainEqual({ ...updated, lastName: 'Check' })
  expect(updated).toMatchObject({ lastName: 'Changed' })
  expect(deleted).toEqual({ _id: expect.toBeOneOf(created.map(({ _id }) => _id)) })
  expect(ofType('finance.payment.completed')[0].data).toEqual({ note: 'sent by postern check' })
})

const NOT_COUNTED = { status: 'skipped', answers: [], cause: 'not_counted' }
it.each<readonly [statuses: readonly Verdict['status'][], verdict: object]>([
  [['fail', 'pass'], { status: 'fail', answers: [], note: 'contact.created' }],
  [['skipped', 'pass', 'fail', 'fail'], { status: 'fail', answers: [], note: 'contact.deleted, opportunity.created' }],
  [['fail'], { status: 'fail', answers: [] }],
  [['skipped', 'pass'], { status: 'pass', answers: [] }],
  [[], NOT_COUNTED],
])('is judged once for each type: of %j', async (statuses, verdict) => {
  const { scene } = await play([200])
  const types = listTypes(scene.make).slice(0, statuses.length)
  const judged: unknown[] = []
  const judgeOne = async (_scene: Scene, { type }: TestEvent): Promise<Verdict> => {
    judged.push(type)
    return { status: statuses[types.indexOf(type)] ?? 'warn', answers: [] }
  }
  const probed = { ...scene, probe: { runs: async () => 1, fail }, counting: () => countingOf(types) }
  expect(await forEachType(judgeOne)(probed)).toEqual(verdict)
  expect(judged.toSorted()).toEqual(types.toSorted())
})

it('is told by its worst answer, a 2xx, and by the answers that are wrong otherwise', async () => {
  const statuses: Readonly<Record<string, number>> = { a: 500, b: 401, c: 200, d: 200 }
  const judgeOne = async (name: string): Promise<Verdict> => {
    const answer = toAnswer({ status: statuses[name] })
    return { status: answer.status === 401 ? 'pass' : 'fail', answers: [answer] }
  }
  const { answers, note } = await judgeAll(Object.keys(statuses), judgeOne)
  expect([answers[0]?.status, note]).toEqual([200, 'c, d; another answer: a'])
})

it('is waited for as long as some of it is done within the patience', async () => {
  let [done, asked] = [0, 0]
  const work: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const { id, type } = JSON.parse(text)
    if (type === 'contact.created') work.push(id)
    response.end()
  })
  const { port, close } = await listen(server)
  onTestFinished(close)
  // One event is done each second time that the probe is asked.
  const runs = async (id: string) => {
    if (++asked % 2 === 0) done++
    return work.indexOf(id) >= 0 && work.indexOf(id) < done ? 1 : 0
  }
  const options = { secret: SECRET, probe: { runs, fail }, patienceMs: 10_000, only: ['burst'] }
  const { checks } = await checkReceiver(`http://127.0.0.1:${port}/`, options)
  expect(checks).toMatchObject([{ id: 'burst', status: 'pass' }])
})
