/** A value of the owner's in a message about it. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'function') return 'a function'
  if (value instanceof Promise) return 'a promise'
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object'
  return String(value)
}

/** Text of a sender's in a message: whatever a terminal, or a reader of the log, could act on is escaped. */
export function quote(text: string): string {
  const escaped = text.replace(/["\\\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
  return `"${escaped}"`
}

/** Text in quotes of a shell, which carries out nothing of it. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Text as one word of a shell, bare if it needs no quotes. */
export function toShellWord(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : quoteForShell(text)
}

/** Returns the message of a thrown value, which need not be an error. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : 'it threw something that is not an error'
}
