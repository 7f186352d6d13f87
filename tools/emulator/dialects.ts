import { ConfigurationError } from '../../src/protocol/errors.ts'
import { findNearest } from '../../src/protocol/nearest.ts'
import { ASSUMPTIONS, type Assumed } from './assumptions.ts'

/** Ways in which the real service may answer. Each is a set of assumptions that differ from the defaults. */
export const DIALECTS = {
  /** All assumptions have their defaults. */
  default: {},
  /** Sends errors as text and HTML, no rate headers, unknown states, and undocumented fields. */
  hostile: {
    webhookBody: 'extra-fields',
    listBody: 'docs',
    idName: 'id',
    logEntry: 'extra-fields',
    deliveryWords: 'unknown',
    retryOfUnfailed: '400',
    contactsBody: 'docs',
    errorBody: 'text',
    foreignIdStatus: '403',
    refusedLoginStatus: '400',
    tokenForm: 'opaque',
    rateHeaders: 'none',
    idForm: 'number',
    signatureCase: 'upper',
  },
} as const satisfies Readonly<Record<string, Partial<Assumed>>>

/** Name of a dialect. */
export type Dialect = keyof typeof DIALECTS

/**
 * Computes the assumptions that hold in a dialect.
 *
 * @param assume single assumptions that differ from the dialect, by name or by id
 * @throws ConfigurationError `option_invalid` for an unknown dialect, assumption or value
 */
export function assumeAll(
  dialect: string = 'default',
  assume: Readonly<Record<string, string | undefined>> = {},
): Assumed {
  if (!Object.hasOwn(DIALECTS, dialect))
    throw invalid(`there is no dialect ${JSON.stringify(dialect)}; give one of ${Object.keys(DIALECTS).join(', ')}.`)
  const assumed: Record<string, string> = {}
  for (const [name, assumption] of Object.entries(ASSUMPTIONS)) assumed[name] = assumption.default
  Object.assign(assumed, DIALECTS[dialect as Dialect]) // checked above: it is a dialect
  const chosen: Record<string, string> = {}
  for (const [idOrName, value] of Object.entries(assume)) {
    if (value === undefined) continue
    const name = readName(idOrName, value)
    if ((chosen[name] ?? value) !== value)
      throw invalid(`${name} has two values, ${chosen[name]} and ${value}, by its name and by its id; give one.`)
    chosen[name] = value
  }
  return { ...assumed, ...chosen } as Assumed // checked above: each has one of its values
}

/** Returns the name of an assumption, after checking that it has such a value. */
function readName(idOrName: string, value: string): string {
  const entry = Object.entries(ASSUMPTIONS).find(([name, { id }]) => name === idOrName || id === idOrName)
  if (entry === undefined) {
    const nearest = findNearest(idOrName, Object.keys(ASSUMPTIONS)) ?? 'listBody'
    throw invalid(
      `there is no assumption ${JSON.stringify(idOrName)}; give A01 to A40, or a name such as ${nearest}. \`npx postern emulator --assumptions\` lists them.`,
    )
  }
  const [name, { values }] = entry
  if (!Object.hasOwn(values, value))
    throw invalid(`${idOrName} cannot be ${JSON.stringify(value)}; give one of ${Object.keys(values).join(', ')}.`)
  return name
}

function invalid(what: string): ConfigurationError {
  return new ConfigurationError('option_invalid', `startEmulator: ${what}`)
}
