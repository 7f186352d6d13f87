/** Fields of an object, or of an array, whose keys are its indices. */
type Fields = Record<string | number, unknown>

/** Copies plain objects and arrays, each once; dates and the like are shared. Without recursion: a small body can be nested deeper than the stack. */
export function copyPlain<T>(value: T): T {
  const copies = new Map<unknown, Fields>()
  const copyOne = (original: unknown): unknown => {
    if (!isPlain(original)) return original
    const known = copies.get(original)
    if (known !== undefined) return known
    // Spreading keeps an own field named __proto__ a field.
    const copy = (Array.isArray(original) ? [...original] : { ...original }) as Fields
    if (Object.getPrototypeOf(original) === null) Object.setPrototypeOf(copy, null)
    copies.set(original, copy)
    return copy
  }
  const copied = copyOne(value)
  // Iterating over a Map also visits what is added meanwhile.
  for (const fields of copies.values()) copyFields(fields, copyOne)
  return copied as T // a copy has the shape of its original
}

function copyFields(fields: Fields, copyOne: (original: unknown) => unknown): void {
  const copyField = (field: unknown, key: string | number) => {
    if (typeof field === 'object') fields[key] = copyOne(field)
  }
  if (Array.isArray(fields)) fields.forEach(copyField)
  else for (const key of Object.keys(fields)) copyField(fields[key], key)
}

/** Returns true if an object or a list consists only of its fields, even if it is from another realm, such as that of a test runner. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null) return true
  const base: unknown = Object.getPrototypeOf(prototype)
  return Array.isArray(value) ? base !== null && Object.getPrototypeOf(base) === null : base === null
}
