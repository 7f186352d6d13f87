import { ConfigurationError } from '../src/index.ts'

const FUNCTIONS = ['source', 'waitUntil']

/**
 * Checks the arguments of an adapter when it is made, so that the stack leads to the mistake.
 *
 * @param name of the adapter's function, for the message
 * @param known the options that it takes beside `source` and `waitUntil`
 * @throws ConfigurationError `option_invalid`, `option_unknown`
 */
export function checkOptions(name: string, receiver: unknown, options: object, known: readonly string[] = []): void {
  if (typeof Reflect.get(Object(receiver), 'handle') !== 'function')
    throw invalid(
      `${name} was given ${receiver === undefined ? 'undefined' : 'something else'} for a receiver. If it is imported from a module that imports this one, it does not exist yet: make the receiver in a module of its own.`,
    )
  if (typeof options !== 'object' || options === null) throw invalid(`${name} takes one object of options.`)
  const all = [...FUNCTIONS, ...known]
  const stray = Object.keys(options).find((option) => !all.includes(option))
  if (stray !== undefined)
    throw new ConfigurationError('option_unknown', `${name} has no option "${stray}". It takes ${all.join(', ')}.`)
  for (const option of FUNCTIONS) {
    const value: unknown = Reflect.get(options, option)
    if (value !== undefined && typeof value !== 'function')
      throw invalid(`${name}: ${option} is of type ${typeof value}; give a function.`)
  }
}

/** Checks a path that an adapter is to answer. */
export function checkPath(name: string, option: string, path: unknown): void {
  if (path !== undefined && !(typeof path === 'string' && path.startsWith('/') && !/[?#]/.test(path)))
    throw invalid(`${name}: ${option} is ${JSON.stringify(path)}; give a path that begins with "/", without a query.`)
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError('option_invalid', message)
}
