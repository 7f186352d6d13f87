import { createServer } from 'node:http'
import { checkReceiver, type Probe } from 'postern/check'
import { expect, it, onTestFinished } from 'vitest'
import { judgeWork, sendEvent } from '../../src/check/work.ts'
import { listen } from '../adapters/http/hosts.ts'
import { SECRET } from './faulty/hand-written.ts'
import { play } from './play.ts'
import { toAnswer, toJudged } from './to-answer.ts'

type Changes = Readonly<Record<string, unknown>>

/** Judges contacts of these changes in one check, whose work is done if the probe knows it, and returns the status. */
async function judge(changes: readonly Changes[], isDone: boolean, types = ['contact.created']) {
  const probe: Probe = { runs: async () => (isDone ? 1 : 0), fail: async () => {} }
  const { scene } = await play([200], { patienceMs: 1 })
  const { make } = scene
  const answers = changes.map((change) => toAnswer({ event: make.event(change) }))
  return (
    await judgeWork({ ...scene, probe, countedTypes: async () => types }, toJudged('x', answers, { status: 'pass' }))
  ).status
}

it.each<readonly [what: string, status: string, changes: readonly Changes[], isDone: boolean]>([
  ['a new contact', 'fail', [{}], false],
  ['a new contact, and it is done', 'pass', [{}], true],
  ['another type', 'pass', [{ type: 'contact.updated' }], false],
  ['another account', 'pass', [{ accountKey: 'other' }], false],
  ['an address that is empty', 'pass', [{ data: { record: { _id: '1', status: 'active', email: '' } } }], false],
  ['a contact that is not active', 'pass', [{ data: { record: { _id: '1', status: 'x', email: 'a' } } }], false],
  ['no record', 'pass', [{ data: undefined }], false],
])('acknowledged work is looked for: %s', async (_what, status, changes, isDone) => {
  expect(await judge(changes, isDone)).toBe(status)
})

it('is not looked for in a receiver without work for new contacts', async () => {
  expect(await judge([{}], false, ['contact.updated'])).toBe('pass')
})

it('is not looked for if an earlier event of the check has the same record', async () => {
  const data = { record: { _id: '1', status: 'active', email: 'a' } }
  expect(await judge([{ type: 'contact.updated', data }, { data }], false)).toBe('pass')
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
  const options = { secret: SECRET, probe: { runs, fail: async () => {} }, patienceMs: 10_000, only: ['burst'] }
  const { checks } = await checkReceiver(`http://127.0.0.1:${port}/`, options)
  expect(checks).toMatchObject([{ id: 'burst', status: 'pass' }])
})

it('is waited for as long as the work of earlier events is done', async () => {
  const { scene } = await play([200], { patienceMs: 1 })
  const earlier = ['a', 'b', 'c', 'd', 'e']
  let [done, mayDo] = [0, false]
  // Between two looks at the event, one of the earlier ones is done.
  const runs = async (id: string) => {
    if (!earlier.includes(id)) mayDo = true
    else if (mayDo && earlier[done] === id) [done, mayDo] = [done + 1, false]
    return (earlier.includes(id) ? earlier.indexOf(id) < done : done === earlier.length) ? 1 : 0
  }
  const probed = { ...scene, probe: { runs, fail: async () => {} }, acknowledged: new Set(earlier) }
  expect(await sendEvent(probed, scene.make.event())).toMatchObject({ runs: 1 })
})
