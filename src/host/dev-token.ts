import { readNodeEnv } from './node-env.ts'

/**
 * Returns the token with which `postern dev` proves itself, of the variable `POSTERN_DEV`. Undefined in production, without the variable, and
 * on hosts without an environment.
 */
export function readDevToken(): string | undefined {
  try {
    const { POSTERN_DEV = '' } = process.env
    return readNodeEnv() !== 'production' && POSTERN_DEV.length >= SHORTEST ? POSTERN_DEV : undefined
  } catch {
    return undefined
  }
}

/** A shorter value, such as `1` or `true`, could be guessed. */
const SHORTEST = 16
