import type { Scene, Verdict } from '../case.ts'
import type { Probe } from '../probe.ts'
import { isSuccess } from '../verdict.ts'

/** What has been acknowledged may be done a little later. */
const SETTLE_MS = 300

/** A scene with a probe. */
export interface ProbedScene extends Scene {
  readonly probe: Probe
}

/** Judges what only a probe can show; skipped without one. */
export function withProbe(judge: (scene: ProbedScene) => Promise<Verdict>): (scene: Scene) => Promise<Verdict> {
  return async (scene) =>
    scene.probe === undefined
      ? { status: 'skipped', reason: 'not observable without a probe' }
      : judge({ ...scene, probe: scene.probe })
}

/** How often the work has been done once it has come to at least one, or time is up. */
export async function readRuns({ probe, patienceMs, wait }: ProbedScene, id: string): Promise<number> {
  const end = performance.now() + patienceMs
  for (;;) {
    const runs = await probe.runs(id)
    if (runs > 0 || performance.now() >= end) return runs
    await wait(50)
  }
}

/** The same, when a second run has had time to show: an event behind it tells when a queue has come past it. */
export async function readSettled(scene: ProbedScene, id: string): Promise<number> {
  const { make, send, probe, wait } = scene
  const marker = make.event()
  if (isSuccess(await send(make.delivery(marker)))) await readRuns(scene, marker.id)
  await wait(SETTLE_MS)
  return probe.runs(id)
}

export function timesDone(runs: number): string {
  return `the work was done ${runs === 1 ? 'once' : `${runs} times`}`
}
