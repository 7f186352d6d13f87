/**
 * Copies plain objects and arrays at any depth, without recursion: a small body can be nested deeper than the stack. Everything
 * else, such as dates or instances that a schema made, is shared. An object that stands in several places is copied once.
 */
export function copyPlain<T>(value: T): T {
  const copies = new Map<unknown, unknown>()
  const copyOne = (original: unknown): unknown => {
    if (!isPlain(original)) return original
    let copy = copies.get(original)
    if (copy === undefined) {
      // Spreading keeps an own field of the name __proto__ a field.
      copy = Array.isArray(original) ? [...original] : { ...original }
      copies.set(original, copy)
    }
    return copy
  }
  const copied = copyOne(value)
  // A Map is walked in the order of insertion, what is added on the way included.
  for (const copy of copies.values()) {
    const fields = copy as Record<string, unknown> // arrays as well: their keys are their indices
    for (const key of Object.keys(fields)) {
      const field = fields[key]
      if (typeof field === 'object') fields[key] = copyOne(field)
    }
  }
  return copied as T // a copy has the shape of its original
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
