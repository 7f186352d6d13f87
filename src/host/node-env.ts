/** Returns `NODE_ENV`. Hosts without an environment, or without the permission to read it, have none. */
export function readNodeEnv(): string | undefined {
  try {
    return process.env.NODE_ENV
  } catch {
    return undefined
  }
}
