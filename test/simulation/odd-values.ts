/** Returns something that a line of JavaScript can throw. */
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

/** Returns what can be said of a thrown value, which may be one that cannot be looked at. */
export function describeThrown(value: unknown): string {
  try {
    return value instanceof Error ? String(value.stack) : String(value)
  } catch {
    return 'a value that cannot be looked at'
  }
}
