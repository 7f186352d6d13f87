import { parseJson } from '../../src/protocol/parse-json.ts'

/** Limit of indentation. The spaces of 16,000 levels would take 500 MB. */
const MOST_INDENTED = 32

/** Escapes, ends of strings, white space, empty brackets and punctuation of JSON. Strings are not matched as a whole: long ones would fill the stack. */
const TOKENS = /\\.|"|\s+|([[{])\s*([\]}])|[,:{}[\]]/g

/** Formats JSON with two spaces for each level. Every token stays as it was written, even escapes, long numbers and duplicate keys. Other text stays unchanged. */
export function toPretty(text: string): string {
  if (parseJson(text) === undefined) return text
  let depth = 0
  let isInString = false
  const end = () => `\n${'  '.repeat(Math.min(depth, MOST_INDENTED))}`
  return text.replace(TOKENS, (token, open?: string, close?: string) => {
    if (token === '"') isInString = !isInString
    if (isInString) return token
    if (open !== undefined) return `${open}${close}`
    if (/^\s/.test(token)) return ''
    if (token === ',') return `,${end()}`
    if (token === ':') return ': '
    if (token === '{' || token === '[') depth++
    if (token === '}' || token === ']') depth--
    return token === '{' || token === '[' ? token + end() : token === '}' || token === ']' ? end() + token : token
  })
}
