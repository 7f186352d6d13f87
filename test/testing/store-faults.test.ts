import { storeSuite } from 'postern/testing'
import { describe, expect, it } from 'vitest'
import { type Fault, makeStores, type Oddity } from './faulty-store.ts'
import { runAtSpeed } from './run-at-speed.ts'

const MODEL = 'answers as the contract in its plainest form does'
const AHEAD = 'though the clock of one process is an hour ahead'
const BEHIND = 'though the clock of one process is an hour behind'

/** Faults that each case must notice. */
const FAULTS: Readonly<Record<string, readonly [Fault, ...Fault[]]>> = {
  'claims a key that it does not know, with a token and without marks': ['gives empty tokens', 'gives tokens as bytes'],
  'answers busy while a claim lives, to everybody': ['ends claims early'],
  'gives a key to one of many that claim it at once': ['claims in two steps'],
  'gives a key to one of many also when it changes hands again and again': ['claims in two steps'],
  'claims many keys at once, each by itself': ['claims in two steps'],
  'holds keys apart that differ in little': ['cuts keys off', 'ignores case'],
  'takes the names of what every object has for keys like any other': ['knows what every object has'],
  'gives every claim a token of its own': [
    'numbers the claims of each key',
    'gives the token of before after a release',
  ],
  'lets a claim end by itself': ['holds claims for ever', 'gives the same token twice'],
  'gives a claim that ended by itself to one of many': ['holds claims for ever', 'claims in two steps'],
  'renews a claim from now on': ['adds the new lease to the old one'],
  'renews for as long as it is told, which may be shorter than before': ['adds the new lease to the old one'],
  'keeps the marks that came with a renewal, also when the claim then ends by itself': [
    'loses the marks of a renewal',
    'replaces marks',
  ],
  'renews a claim that has ended while nobody took the key': ['cannot renew once its lease has ended'],
  'does not renew the claim of another, nor keep what came with it': [
    'lets anybody renew',
    'keeps marks that another renews with',
  ],
  'does not lengthen the claim of another': ['lets anybody renew', 'lengthens the claim of another, though it says no'],
  'does not renew what is done': ['renews what is done'],
  'answers done after complete, for as long as it lives': ['forgets what is done with its lease'],
  'answers a repeated complete as the first one': ['cannot repeat a complete'],
  'does not complete the claim of another, which goes on': ['lets anybody complete'],
  'completes a claim that has ended while nobody took the key': ['cannot complete once its lease has ended'],
  'completes a claim though another one came and ended since': ['cannot complete once its lease has ended'],
  'completes a key that it has forgotten, or never knew': ['cannot complete what it does not know'],
  'completes what was released, and what another has completed': ['cannot complete once its lease has ended'],
  'gives a released key to the next claim at once, with the marks': [
    'ends a released claim with its lease',
    'loses the marks of a release',
  ],
  'gathers marks over renewals and attempts, each once': ['replaces marks'],
  'takes any readable name as a mark, and many of them': ['joins marks by commas', 'keeps a hundred marks at most'],
  'keeps marks of its own: a list that changes later changes nothing': ['keeps the list that it was given'],
  'answers a repeated release as the first one': ['cannot repeat a release'],
  'keeps what further releases bring while nobody holds the key': ['loses the marks of a late release'],
  'keeps earlier marks beside those of a renewal that nobody else held the key for': ['replaces marks'],
  'does not release the claim of another, nor keep its marks': ['lets anybody release', 'keeps marks of another'],
  'keeps the marks of a claim that had ended before its release, while nobody took the key': [
    'loses the marks of a late release',
  ],
  'does not undo what is done by a late release': ['is undone by a late release'],
  'tells how long it remembers': ['says another retention'],
  'forgets what is done after the retention, and not before': ['forgets too early', 'never forgets'],
  'remembers what is done for the retention from its end, however long it took': [
    'counts the retention from the first claim',
  ],
  'keeps a mark for the retention from when it came, beside older ones': ['counts the retention from the first claim'],
  'remembers for months if it is told to': ['forgets at once what it should keep for months'],
  'forgets marks after the retention, and not before': ['forgets too early', 'never forgets'],
  'keeps marks that came with a renewal for the retention, though the claim has long ended': [
    'loses the marks of a renewal',
    'forgets too early',
  ],
  'keeps a claim alive that is renewed for longer than the retention': [
    'forgets a claim that lives for longer than the retention',
  ],
  'gives a key to one of many in two processes that claim it at once': ['claims in two steps', 'shares nothing'],
  'shows one process what the other did': ['looks keys up in an object', 'shares nothing'],
  'knows a claim by its token, whichever process brings it': ['shares nothing', 'replaces marks'],
  'fences off a process that was stopped for longer than its lease': [
    'lets anybody complete',
    'lets anybody renew',
    'keeps marks of another',
    'keeps marks that another renews with',
  ],
  [`holds and ends claims on time ${AHEAD}`]: ['goes by the clock of its process'],
  [`holds and ends claims on time ${BEHIND}`]: [
    'goes by the clock of its process',
    'compares times with the clock of its process',
  ],
  [`remembers for as long as it should ${AHEAD}`]: ['goes by the clock of its process', 'never forgets'],
  [`remembers for as long as it should ${BEHIND}`]: ['goes by the clock of its process', 'never forgets'],
  'knows no position that nobody has advanced to': [
    'returns the positions that there are, and no others',
    'has positions and no advance',
  ],
  'moves a position forward, and never back': ['moves positions back', 'says nothing of a later position'],
  'takes the same position again': ['refuses an equal position'],
  'compares positions by their size, and keeps them exactly': [
    'compares positions as text',
    'rounds positions to seconds',
  ],
  'returns positions in the order of their keys, however many': ['returns the positions that there are, and no others'],
  'keeps positions apart whose keys are alike': ['ignores case in positions'],
  'keeps the latest of positions that come at once from two processes': ['advances in two steps'],
  'shows one process a position of the other': ['shares no positions'],
  'keeps a position beside the claims of events': ['forgets positions with the claim'],
  'forgets a position after the retention, and not before': ['forgets positions too early', 'never forgets positions'],
  'keeps a position for the retention from its last move': ['keeps a position from its first move only'],
  [`keeps a position for as long as it should ${AHEAD}`]: [
    'counts the lifetime of positions by the clock of its process',
  ],
  [`keeps a position for as long as it should ${BEHIND}`]: [
    'counts the lifetime of positions by the clock of its process',
  ],
  [MODEL]: [
    'lets anybody complete',
    'lets anybody renew',
    'lets anybody release',
    'cannot complete once its lease has ended',
    'cannot renew once its lease has ended',
    'cannot repeat a complete',
    'cannot repeat a release',
    'holds claims for ever',
    'ends claims early',
    'ends a released claim with its lease',
    'adds the new lease to the old one',
    'renews what is done',
    'is undone by a late release',
    'loses the marks of a renewal',
    'loses the marks of a release',
    'loses the marks of a late release',
    'replaces marks',
    'keeps marks of another',
    'shares nothing',
  ],
  'answers nothing of its own while the engine is away, and is back by itself': ['answers while its engine is away'],
  'takes "done" after the engine was away, by the token from before': [
    'comes back with other holders',
    'cannot repeat a complete',
  ],
  'still knows claims, marks and what is done after the engine was away': [
    'comes back without its claims',
    'comes back with other holders',
  ],
  'gives back a claim that arrived late, and loses no key to one that never arrived': [
    'holds what it claimed late for ever',
    'cannot release what it claimed late',
  ],
}

function casesOf({ makeStore, ...options }: ReturnType<typeof makeStores>) {
  return storeSuite(makeStore, options)
}

const ALL = casesOf(makeStores('none'))

describe('the store suite', () => {
  it('has a planted fault for every case', () => {
    const listed = Object.keys(FAULTS)
    for (const { name } of ALL) expect(listed).toContain(name.startsWith(MODEL) ? MODEL : name)
    expect(listed.filter((name) => !ALL.some((each) => each.name.startsWith(name)))).toEqual([])
  })

  it.each(Object.entries(FAULTS).flatMap(([name, faults]) => faults.map((fault) => [fault, name] as const)))(
    'notices a store that %s: %s',
    async (fault, name) => {
      const cases = casesOf(makeStores(fault)).filter((each) => each.name.startsWith(name))
      const failed: string[] = []
      for (const each of cases) await each.run().catch(() => failed.push(each.name))
      expect(failed).not.toEqual([])
    },
  )

  it('notices a store that never finds its engine again', async () => {
    const { makeStore, ...options } = makeStores('never finds its engine again')
    const cases = storeSuite(makeStore, options).filter(({ name }) => name.startsWith('takes "done" after'))
    const failure = runAtSpeed(40, () => Promise.all(cases.map(({ run }) => run())))
    await expect(failure).rejects.toMatchObject({
      message: 'the store did not find its engine again',
      cause: { message: 'no connection' },
    })
  })

  it.each(['none', 'returns marks in another order'] as const)('accepts a store twice: %s', async (oddity) => {
    const cases = casesOf(makeStores(oddity)).filter(({ takesEngineAway }) => !takesEngineAway)
    for (const { run } of [...cases, ...cases]) await run()
  })

  it.each<Oddity>([
    'none',
    'returns marks in another order',
    'loses the answer to a late claim',
    'refuses calls until its engine is back for a while',
  ])('accepts a store whose engine is away for a while: %s', async (oddity) => {
    const names = ALL.filter(({ takesEngineAway }) => takesEngineAway).map(({ name }) => name)
    const cases = names.map((name) => casesOf(makeStores(oddity)).find((each) => each.name === name))
    await Promise.all(cases.map((each) => each?.run()))
  })
})
