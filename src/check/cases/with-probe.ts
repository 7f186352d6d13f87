import type { Scene, TestEvent, Verdict } from '../case.ts'
import { makeEvents, PLAIN, type ProbedScene } from '../work.ts'

/** Wraps a check that needs a probe; it is skipped without one. */
export function withProbe(judge: (scene: ProbedScene) => Promise<Verdict>): (scene: Scene) => Promise<Verdict> {
  return async (scene) => {
    const { probe } = scene
    if (probe === undefined) return { status: 'skipped', answers: [], cause: 'no_probe' }
    return judge({ ...scene, probe })
  }
}

/** Wraps a check of plain events; it is skipped if the receiver has work only for others. */
export function withPlain(judge: (scene: ProbedScene) => Promise<Verdict>): (scene: Scene) => Promise<Verdict> {
  return withProbe(async (scene) => {
    const types = await scene.countedTypes()
    return types.includes(PLAIN) ? judge(scene) : { status: 'skipped', answers: [], cause: 'not_counted' }
  })
}

/** So many types are judged at the same time. */
const WIDTH = 3

/** Wraps a check that judges an event of each type whose work is counted: it fails if one does, and otherwise passes if one does. */
export function forEachType(
  judge: (scene: ProbedScene, event: TestEvent) => Promise<Verdict>,
): (scene: Scene) => Promise<Verdict> {
  return withProbe(async (scene) => {
    const events = await makeEvents(scene, await scene.countedTypes())
    const verdicts: Verdict[] = []
    for (let at = 0; at < events.length; at += WIDTH)
      verdicts.push(...(await Promise.all(events.slice(at, at + WIDTH).map((event) => judge(scene, event)))))
    const found = (status: Verdict['status']) => verdicts.findIndex((verdict) => verdict.status === status)
    const at = [found('fail'), found('pass'), 0].find((index) => index >= 0) ?? 0
    const { [at]: verdict } = verdicts
    if (verdict === undefined) return { status: 'skipped', answers: [], cause: 'not_counted' }
    return at === 0 ? verdict : { ...verdict, note: events[at]?.type ?? '' }
  })
}
