/** Returns words in lower case with underscores, which text in that form has already: `pull_request` for `pullRequest` and `Pull-Request`. */
export function toSnake(words: string): string {
  return words
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[\s-]+/g, '_')
    .toLowerCase()
}
