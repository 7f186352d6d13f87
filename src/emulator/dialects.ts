import { ConfigurationError } from '../protocol/errors.ts'
import { ASSUMPTIONS, type Assumed } from './assumptions.ts'

/** How the service may turn out to answer: each a set of assumptions that differ from the defaults. */
export const DIALECTS = {
  /** The defaults. */
  default: {},
  /** Lists and objects are wrapped. */
  envelope: { A03: 'data', A04: 'data', A08: 'cursor', A09: 'embedded', A12: '200', A16: 'data', A17: 'nested' },
  /** As a Nest application answers: lists of messages. */
  nest: { A03: 'null-secret', A04: 'items', A06: 'object', A08: 'pages', A16: 'items', A17: 'messages', A18: 'merged' },
  /** The fewest fields, empty bodies, 200 everywhere. */
  bare: { A02: '200', A06: '200', A09: 'minimal', A12: 'empty', A17: 'empty', A18: 'merged', A25: 'success' },
  /** Milliseconds wherever a time is a number. */
  ms: { A09: 'epoch-milliseconds', A21: 'milliseconds', A24: 'epoch-milliseconds' },
  /** Errors as text and HTML, no rate headers, unknown states, fields that nobody documented. */
  hostile: {
    A03: 'extra-fields',
    A04: 'docs',
    A05: 'id',
    A09: 'extra-fields',
    A10: 'unknown',
    A14: '400',
    A16: 'docs',
    A17: 'text',
    A19: '403',
    A20: '400',
    A22: 'opaque',
    A25: 'none',
    A37: 'number',
    A40: 'upper',
  },
} as const satisfies Readonly<Record<string, Partial<Assumed>>>

export type Dialect = keyof typeof DIALECTS

/**
 * What holds in a dialect.
 *
 * @param assume single assumptions that differ from the dialect
 * @throws ConfigurationError `option_invalid` for a dialect, an assumption or a value that there is not
 */
export function assumeAll(dialect: string = 'default', assume: Readonly<Record<string, string>> = {}): Assumed {
  if (!Object.hasOwn(DIALECTS, dialect))
    throw invalid(`there is no dialect ${JSON.stringify(dialect)}; give one of ${Object.keys(DIALECTS).join(', ')}.`)
  const defaults = Object.entries(ASSUMPTIONS).map(([id, assumption]) => [id, assumption.default])
  for (const [id, value] of Object.entries(assume)) mustBeValue(id, value)
  return {
    ...Object.fromEntries(defaults),
    ...DIALECTS[dialect as Dialect], // it is one of them, as was checked
    ...assume,
  }
}

function mustBeValue(id: string, value: string): void {
  if (!Object.hasOwn(ASSUMPTIONS, id)) throw invalid(`there is no assumption ${JSON.stringify(id)}; give A01 to A40.`)
  const { values } = ASSUMPTIONS[id as keyof Assumed] // it is one of them, as was checked
  if (!Object.hasOwn(values, value))
    throw invalid(`${id} cannot be ${JSON.stringify(value)}; give one of ${Object.keys(values).join(', ')}.`)
}

function invalid(what: string): ConfigurationError {
  return new ConfigurationError('option_invalid', `startEmulator: ${what}`)
}
