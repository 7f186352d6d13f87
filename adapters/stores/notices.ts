import type { Logger } from '../../src/engine.ts'

/** Delivers warnings to each receiver on a store, whether the receiver or the warning comes first. */
export class Notices {
  readonly #loggers: Logger[] = []
  readonly #messages = new Set<string>()

  addLogger(logger: Logger): void {
    this.#loggers.push(logger)
    for (const message of this.#messages) logger.warn({}, message)
  }

  /** Reports a message once, no matter how often it is called. */
  warn(message: string): void {
    if (this.#messages.has(message)) return
    this.#messages.add(message)
    for (const logger of this.#loggers) logger.warn({}, message)
  }
}
