/** Names under which services wrap the requested object (assumptions A03 and A04). */
const WRAPPERS = ['data', 'result', 'webhook', 'delivery', 'item', 'payload']
const LISTS = [...WRAPPERS, 'items', 'webhooks', 'deliveries', 'contacts', 'docs', 'results', 'records', 'entries']

export type Entry = Readonly<Record<string, unknown>>

export function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Finds the requested object in an answer: wrapped under a known name, or the answer itself. */
export function findEntry(body: unknown, isMeant: (entry: Entry) => boolean): Entry | undefined {
  if (!isEntry(body)) return undefined
  for (const name of WRAPPERS) {
    const inner = own(body, name)
    if (isEntry(inner) && isMeant(inner)) return inner
  }
  return isMeant(body) ? body : undefined
}

/** List in an answer, with the objects that enclose it, which may name the next page. */
export interface FoundList {
  readonly items: readonly unknown[]
  readonly around: readonly Entry[]
}

/** Finds the first list at the top, one level down, or in a known wrapper; known names go first. */
export function findList(body: unknown): FoundList | undefined {
  if (Array.isArray(body)) return { items: body, around: [] }
  if (!isEntry(body)) return undefined
  const here = listIn(body)
  if (here !== undefined) return { items: here, around: [body] }
  for (const name of WRAPPERS) {
    const inner = own(body, name)
    const items = isEntry(inner) ? listIn(inner) : undefined
    if (isEntry(inner) && items !== undefined) return { items, around: [inner, body] }
  }
  return undefined
}

function listIn(entry: Entry): readonly unknown[] | undefined {
  const values = [...LISTS.map((name) => own(entry, name)), ...Object.values(entry)]
  return values.find(Array.isArray)
}

/** Reads an own field of an untrusted object, in which `__proto__` and the like are ordinary names. */
export function own(entry: Entry, name: string): unknown {
  return Object.hasOwn(entry, name) ? entry[name] : undefined
}
