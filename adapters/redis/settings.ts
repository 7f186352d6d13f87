import type { Logger } from '../../src/index.ts'

/** What of a server's settings makes it forget events, each with the fix, out of its answers to INFO. */
export function findForgetfulSettings(info: string): readonly string[] {
  const { aof_enabled: appendOnly, maxmemory_policy: policy } = parseInfo(info)
  const found: string[] = []
  if (appendOnly === '0')
    found.push(
      'Redis runs with "appendonly no": after a crash or a restart it has forgotten events, and copies of those run again. Set "appendonly yes".',
    )
  if (policy !== undefined && policy !== 'noeviction')
    found.push(
      `Redis runs with "maxmemory-policy ${policy}": when its memory is full it drops events that are done or under way, and copies of those run again. Set "maxmemory-policy noeviction".`,
    )
  return found
}

/** What each receiver on a store is told, whichever comes first: the receiver, or what there is to tell. */
export class Notices {
  readonly #loggers: Logger[] = []
  readonly #notices: { readonly level: 'warn' | 'debug'; readonly message: string }[] = []

  addLogger(logger: Logger): void {
    this.#loggers.push(logger)
    for (const { level, message } of this.#notices) write(logger, level, message)
  }

  warn(message: string): void {
    this.#add('warn', message)
  }

  debug(message: string): void {
    this.#add('debug', message)
  }

  #add(level: 'warn' | 'debug', message: string): void {
    this.#notices.push({ level, message })
    for (const logger of this.#loggers) write(logger, level, message)
  }
}

function parseInfo(info: string): Readonly<Partial<Record<string, string>>> {
  return Object.fromEntries([...info.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]))
}

/** A logger that throws must not fail the call that was under way. */
function write(logger: Logger, level: 'warn' | 'debug', message: string): void {
  try {
    logger[level]({}, message)
  } catch {
    // The receiver tells its owner of broken loggers.
  }
}
