/**
 * Copies plain objects and arrays at any depth, without recursion: a small body can be nested deeper than the stack. Everything
 * else, such as dates or instances that a schema made, is shared. An object that stands in several places is copied once.
 */
export function copyPlain<T>(value: T): T {
  return copyDeep(value, toWhole)
}

/** As {@link copyPlain}, for what a schema made: what cannot be read is shared as well. */
export function copyReadable<T>(value: T): T {
  return copyDeep(value, (original) => {
    try {
      return toWhole(original)
    } catch {
      return undefined // a getter or a proxy
    }
  })
}

/** @param toCopy returns nothing for what is shared */
function copyDeep<T>(value: T, toCopy: (original: unknown) => Fields | undefined): T {
  const copies = new Map<unknown, Fields>()
  const copyOne = (original: unknown): unknown => {
    const copy = copies.get(original) ?? toCopy(original)
    if (copy === undefined) return original
    copies.set(original, copy)
    return copy
  }
  const copied = copyOne(value)
  // A Map is walked in the order of insertion, what is added on the way included.
  for (const fields of copies.values()) copyFields(fields, copyOne)
  return copied as T // a copy has the shape of its original
}

/** Copies what `JSON.parse` returned: no object stands there twice, so that it takes a quarter of the time. */
export function copyJson<T extends object>(value: T): T {
  const copies: Fields[] = []
  const copyOne = (original: unknown): unknown => {
    if (original === null) return null
    const copy = toShallow(original as object) // all that `copyFields` passes is
    copies.push(copy)
    return copy
  }
  const copied = copyOne(value)
  for (let fields = copies.pop(); fields !== undefined; fields = copies.pop()) copyFields(fields, copyOne)
  return copied as T // as above
}

/** Fields of an object, or of an array, whose keys are its indices. */
type Fields = Record<string | number, unknown>

/** Spreading keeps an own field of the name __proto__ a field. */
function toShallow(original: object): Fields {
  return (Array.isArray(original) ? [...original] : { ...original }) as Fields
}

/** The longest list whose fields are looked for: that takes ten times as long as to copy it. */
const LONGEST_ODD_LIST = 1_000

/**
 * Keeps what no JSON has: a list with holes or fields, such as a match of a regular expression, and an object without a prototype. Returns
 * nothing for what is not plain, and for a long list with holes, which may be of any length.
 */
function toWhole(original: unknown): Fields | undefined {
  if (!isPlain(original)) return undefined
  if (Array.isArray(original) && original.length <= LONGEST_ODD_LIST)
    return Object.assign(new Array(original.length), original) as unknown as Fields
  if (Array.isArray(original) && hasHole(original)) return undefined
  const copy = toShallow(original)
  return Object.getPrototypeOf(original) === null ? Object.setPrototypeOf(copy, null) : copy
}

function hasHole(list: readonly unknown[]): boolean {
  for (let index = 0; index < list.length; index++) if (!(index in list)) return true
  return false
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
