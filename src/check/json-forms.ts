/** With a blank behind each colon and comma between values. */
export function toSpaced(value: unknown): string {
  // A string is taken whole, so that nothing within it is widened.
  return JSON.stringify(value).replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[:,]/g, (token) =>
    token.length === 1 ? `${token} ` : token,
  )
}

/** Indented by two blanks, with a line break at the end. */
export function toPretty(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** The same JSON with slashes as `\/`. */
export function escapeSlashes(json: string): string {
  return json.replaceAll('/', '\\/')
}

/** The same JSON with everything that is not ASCII as `\u` and four digits. */
export function escapeUnicode(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
