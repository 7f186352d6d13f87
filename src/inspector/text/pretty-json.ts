import { tryToParse } from './edit-body.ts'

/** A piece of JSON text, either a key or not. */
export interface JsonPiece {
  readonly text: string
  readonly isKey: boolean
}

/** Limit of indentation. The spaces of 16,000 levels would take 500 MB. */
const MOST_INDENTED = 32

const TOKENS = /"(?:[^"\\]|\\.)*"|[^\s",:{}[\]]+|[,:{}[\]]/g

/**
 * Formats JSON with two spaces for each level. Every token stays as it was written, even escapes, long numbers and duplicate keys.
 *
 * @returns undefined if the text is not JSON
 */
export function prettify(text: string): readonly JsonPiece[] | undefined {
  if (tryToParse(text) === undefined) return undefined
  const tokens = text.match(TOKENS) ?? []
  const pieces: JsonPiece[] = []
  let depth = 0
  let line = ''
  const end = () => {
    line += `\n${'  '.repeat(Math.min(depth, MOST_INDENTED))}`
  }
  tokens.forEach((token, index) => {
    const next = tokens[index + 1]
    if (token.startsWith('"') && next === ':') {
      if (line !== '') pieces.push({ text: line, isKey: false })
      line = ''
      pieces.push({ text: token, isKey: true })
      return
    }
    if ((token === '}' || token === ']') && !isEmpty(tokens[index - 1], token)) {
      depth--
      end()
    }
    line += token === ':' ? ': ' : token
    if (token === ',') end()
    if ((token === '{' || token === '[') && !isEmpty(token, next)) {
      depth++
      end()
    }
  })
  if (line !== '') pieces.push({ text: line, isKey: false })
  return pieces
}

function isEmpty(open: string | undefined, close: string | undefined): boolean {
  return (open === '{' && close === '}') || (open === '[' && close === ']')
}

/** Formats JSON as one text. Other text stays unchanged. */
export function toPretty(text: string): string {
  return (
    prettify(text)
      ?.map((piece) => piece.text)
      .join('') ?? text
  )
}
