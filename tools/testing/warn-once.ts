const warned = new Set<string>()

/** Warns of a probable mistake of a test that no error may refuse, once in a process. */
export function warnOnce(text: string): void {
  if (warned.has(text)) return
  warned.add(text)
  process.emitWarning(text, 'PosternWarning')
}
