/** Reads JSON of a column. A damaged value is omitted: one row must not keep the workers from all others. */
export function readJson(text: unknown): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

/** Reads a list that only the inbox writes; none if there is none, or if it is damaged. */
export function readList<T>(text: unknown): readonly T[] {
  const list = readJson(text)
  return Array.isArray(list) ? list : []
}
