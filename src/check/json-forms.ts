/** The same JSON with slashes as `\/`. */
export function escapeSlashes(json: string): string {
  return json.replaceAll('/', '\\/')
}

/** The same JSON with everything that is not ASCII as `\u` and four digits. */
export function escapeUnicode(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
