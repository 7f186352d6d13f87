/** Returns a value that JavaScript can throw. */
export function oddValue(choice: number): unknown {
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
      return { code: 'odd' }
    default:
      return () => {}
  }
}

/** Describes a thrown value, which need not be an error. */
export function describeThrown(value: unknown): string {
  return value instanceof Error ? String(value.stack) : String(value)
}
