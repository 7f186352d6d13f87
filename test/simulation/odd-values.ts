/** Returns a value that JavaScript can throw. */
export function oddValue(choice: number): unknown {
  const refuse = () => {
    throw new Error('looked at')
  }
  switch (choice % 10) {
    case 0:
    case 1:
      return new Error('bad luck')
    case 2:
      return undefined
    case 3:
      return null
    case 4:
      return 'a text'
    case 5:
      return Number.NaN
    case 6:
      return Symbol('odd')
    case 7:
      return Object.freeze({})
    case 8:
      return new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse })
    default:
      return () => {}
  }
}

/** Describes a thrown value, which may throw on every access. */
export function describeThrown(value: unknown): string {
  try {
    return value instanceof Error ? String(value.stack) : String(value)
  } catch {
    return 'a value that cannot be looked at'
  }
}
