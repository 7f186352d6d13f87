import type { Logger } from '../../src/index.ts'

/** Delivers notices to each receiver on a store, whether the receiver or the notice comes first. */
export class Notices {
  readonly #loggers: Logger[] = []
  readonly #notices: { readonly level: 'warn' | 'debug'; readonly message: string }[] = []

  addLogger(logger: Logger): void {
    this.#loggers.push(logger)
    for (const { level, message } of this.#notices) write(logger, level, message)
  }

  /** Reports a message once, no matter how often it is called. */
  warn(message: string): void {
    this.#add('warn', message)
  }

  debug(message: string): void {
    this.#add('debug', message)
  }

  #add(level: 'warn' | 'debug', message: string): void {
    if (this.#notices.some((notice) => notice.message === message)) return
    this.#notices.push({ level, message })
    for (const logger of this.#loggers) write(logger, level, message)
  }
}

/** A logger that throws must not fail the call that was under way. */
function write(logger: Logger, level: 'warn' | 'debug', message: string): void {
  try {
    logger[level]({}, message)
  } catch {
    // The receiver reports broken loggers to its owner.
  }
}
