/** Returns a value that JavaScript can throw. */
export function oddValue(choice: number): unknown {
  const error = new Error('bad luck')
  const values = [
    error,
    error,
    undefined,
    null,
    'a text',
    Number.NaN,
    Symbol('odd'),
    Object.freeze({}),
    { code: 'odd' },
  ]
  return [...values, () => {}][choice % 10]
}

/** Describes a thrown value, which need not be an error. */
export function describeThrown(value: unknown): string {
  return value instanceof Error ? String(value.stack) : String(value)
}
