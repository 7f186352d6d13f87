import type { Scene, Verdict } from '../case.ts'
import type { Probe } from '../probe.ts'
import { isSuccess } from '../verdict.ts'

/** Time for work that is done after the acknowledgement. */
const SETTLE_MS = 300

export interface ProbedScene extends Scene {
  readonly probe: Probe
}

/** Wraps a check that needs a probe; it is skipped without one. */
export function withProbe(judge: (scene: ProbedScene) => Promise<Verdict>): (scene: Scene) => Promise<Verdict> {
  return async (scene) =>
    scene.probe === undefined
      ? { status: 'skipped', answers: [], cause: 'no_probe' }
      : judge({ ...scene, probe: scene.probe })
}

/** Waits until the work has been done at least once, or `patienceMs` is over, and returns the number of runs. */
export async function readRuns({ probe, patienceMs, wait }: ProbedScene, id: string): Promise<number> {
  const end = performance.now() + patienceMs
  for (;;) {
    const runs = await probe.runs(id)
    if (runs > 0 || performance.now() >= end) return runs
    await wait(50)
  }
}

/** Returns the number of runs after a second run had time to happen: a later event shows that a queue has passed this one. */
export async function readSettled(scene: ProbedScene, id: string): Promise<number> {
  const { make, send, probe, wait } = scene
  const marker = make.event()
  if (isSuccess(await send(make.delivery(marker)))) await readRuns(scene, marker.id)
  await wait(SETTLE_MS)
  return probe.runs(id)
}
