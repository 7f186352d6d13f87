/** Escapes what the pattern finds as JSON does: `\u` and four digits for each unit of UTF-16. */
export function escapeUnits(text: string, pattern: RegExp): string {
  return text.replace(pattern, (found) => found.split('').map(toEscape).join(''))
}

function toEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
