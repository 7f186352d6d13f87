import type { Logger } from '../../src/host/logger.ts'

const ignore = () => {}

/**
 * Logger that prints nothing, for receivers whose tests make handlers fail on purpose.
 *
 * @example
 * const receiver = createReceiver({ secret: 'test-secret', logger: silentLogger })
 */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
