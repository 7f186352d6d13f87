import type { Engine } from './engine.ts'

/** The machine of the engine: it may be frozen, down or unwilling for a while. What the engine stored survives. */
export class EngineHost {
  readonly engine: Engine
  frozenUntil = 0
  downUntil = 0
  refusesUntil = 0
  /** How often it was started anew: a connection lasts for one of these only. */
  starts = 0

  constructor(engine: Engine) {
    this.engine = engine
  }
}
