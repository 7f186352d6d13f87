import type { Engine } from './engine.ts'

/** The machine of the engine: it may be frozen, down or refuse calls for a while. The engine's data survives. */
export class EngineHost {
  readonly engine: Engine
  frozenUntil = 0
  downUntil = 0
  refusesUntil = 0
  /** The number of restarts: a connection lasts until the next one only. */
  starts = 0

  constructor(engine: Engine) {
    this.engine = engine
  }
}
