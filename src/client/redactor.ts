import { isError } from '../protocol/show.ts'

/** Number of secrets to remember: the password, the token in use, and earlier tokens that pending answers may still contain. */
const MAX_SECRETS = 16

/** Text that looks like a JWT, which may be a token that this client never received. */
const JWT = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g

/** A secret that ordinary sentences and numbers may contain, such as the password `contact`. */
const WORD = /^(\p{Lu}?\p{Ll}{1,11}|\p{Lu}{1,12}|\d{1,6})$/u

/** Redacts a word that stands as a value: alone, in quotes, behind `=` or `:`, or behind the name of a secret and one of these. */
function redactValue(word: string, text: string): string {
  if (text.trim() === word) return text.replace(word, '[redacted]')
  // The word comes first, and repetitions are bounded: only the text in front of a found word is searched.
  const named = '(?:pass|pwd|secret|token)\\w{0,20}["\'`]?\\s{0,4}[=:]\\s{0,4}'
  const value = new RegExp(
    `${word}(?:(?<=["'\`]${word})(?=\\\\*["'\`])|(?<=(?:[=:]|${named})${word})(?![\\p{L}\\d]))`,
    'giu',
  )
  return text.replace(value, (found) => (found === word ? '[redacted]' : found))
}

/** Redacts secrets from text for errors and logs. The service may repeat anything that it was sent. */
export class Redactor {
  #secrets: readonly string[] = []

  /** Adds a secret to redact from now on. The first one, the password, is never forgotten. */
  add(secret: string): void {
    if (secret === '' || this.#secrets.includes(secret)) return
    const [first = secret, ...others] = this.#secrets
    this.#secrets = [...new Set([first, ...others.slice(1 - MAX_SECRETS), secret])]
  }

  redact(text: string): string {
    let clean = text
    for (const secret of this.#secrets)
      for (const form of formsOf(secret))
        clean = WORD.test(form) ? redactValue(form, clean) : clean.replaceAll(form, '[redacted]')
    return clean.replaceAll(JWT, '[redacted]')
  }

  /** Copies only the name, message and code of a thrown value: errors of HTTP libraries hold whole requests. */
  redactError(thrown: unknown): Error {
    const chain = chainOf(thrown)
    const clean = new Error(this.redact(chain.map(describe).join(': ')))
    const code = chain.map(codeOf).find((each) => each !== undefined)
    return code === undefined ? clean : Object.assign(clean, { code })
  }
}

/** Returns an error and its causes, the outermost first. */
export function chainOf(thrown: unknown): readonly unknown[] {
  if (isError(thrown)) return [thrown, ...chainOf(thrown.cause)]
  return thrown === undefined ? [] : [thrown]
}

export function codeOf(thrown: unknown): string | undefined {
  return isError(thrown) && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

function describe(thrown: unknown): string {
  if (!isError(thrown)) return 'something that is not an error was thrown'
  return thrown.message || codeOf(thrown) || thrown.name
}

/** Returns the forms of a secret, the longest first: inside JSON in a text of JSON, inside JSON, plain, and inside a URL or form. */
function formsOf(secret: string): readonly string[] {
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [JSON.stringify(inJson).slice(1, -1), inJson, secret, encodeURIComponent(secret)]
}
