import { inspect } from 'node:util'
import type { LogFields, Logger } from '../host/logger.ts'
import { LOGGER, OptionChecker } from '../protocol/option-checker.ts'

/**
 * Adapts a logger of winston, or another that takes the message first, for the option `logger`. An error becomes text, with its stack and
 * causes: formats of winston drop those of an error among the fields.
 *
 * @throws ConfigurationError `option_invalid` if the logger lacks one of the four methods, as with the levels of syslog
 * @example createReceiver({ secret, logger: winstonLogger(winston.createLogger({ transports: [new winston.transports.Console()] })) })
 */
export function winstonLogger(
  logger: Readonly<Record<keyof Logger, (message: string, fields: object) => unknown>>,
): Logger {
  const check = new OptionChecker('winstonLogger')
  check.mustBe('the logger', logger, LOGGER)
  if ('bindings' in logger)
    throw check.invalid('the logger is of pino, which takes the fields first: give it as it is.')
  return {
    debug: (fields, message) => void logger.debug(message, toMeta(fields)),
    info: (fields, message) => void logger.info(message, toMeta(fields)),
    warn: (fields, message) => void logger.warn(message, toMeta(fields)),
    error: (fields, message) => void logger.error(message, toMeta(fields)),
  }
}

/** Returns true for a logger of winston, its children, and the module itself. */
export function isWinston(logger: object): boolean {
  return 'transports' in logger && 'format' in logger
}

function toMeta({ err, ...fields }: LogFields): object {
  return err === undefined ? fields : { ...fields, err: inspect(err) }
}
