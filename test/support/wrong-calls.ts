/** A function with right arguments, from which {@link findSilent} makes wrong calls. */
export interface RightCall {
  /** Returns the function, made anew for each call. */
  readonly of: () => unknown
  /** Right arguments, by their names. */
  readonly given: Readonly<Record<string, unknown>>
  /** Number of arguments that a call needs. Default: all but options at the end. */
  readonly needed?: number
  /** Wrong values that are accepted, or refused in other words, by the name of the argument or option; `*` for all. */
  readonly except?: Readonly<Record<string, readonly unknown[] | '*'>>
  /** Matches each message, if it does not hold the name of the function. */
  readonly told?: RegExp
}

/** An argument that is an object of options. */
export class Options {
  readonly values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.values = values
  }
}

/** Makes every wrong call of a function, and returns those that are not refused by an error which names the mistake. */
export async function findSilent(path: string, call: RightCall): Promise<readonly string[]> {
  const { of, given, except = {} } = call
  const entries = Object.entries(given)
  const { needed = entries.filter(([, value]) => !(value instanceof Options)).length } = call
  const right = entries.map(([, value]) => (value instanceof Options ? value.values : value))
  const owner = call.told ?? new RegExp(`\\b${path.replace(/^.*[.)]/, '')}\\b`)
  const silent: string[] = []
  const mustRefuse = async (wrong: string, args: readonly unknown[], ...names: readonly string[]) => {
    const told = await refusal(of() as Called, args)
    const missing = names.filter((name) => told?.includes(name) === false)
    if (told === undefined) silent.push(`${path}: ${wrong} is taken`)
    else if (!owner.test(told) || missing.length > 0) silent.push(`${path}: ${wrong} is told as: ${told}`)
  }
  if (needed > 0) await mustRefuse('no argument', [])
  for (const [at, [name, value]] of entries.entries()) {
    const put = (wrong: unknown) => right.with(at, wrong)
    if (value instanceof Options) {
      // A message names all options: each has to be in the table.
      const told = (await refusal(of() as Called, put({ ...value.values, unknown: 1 }))) ?? ''
      const all = /It takes ([^.]*)\.$/.exec(told)?.[1]?.split(', ') ?? []
      silent.push(
        ...all
          .filter((key) => !(key in value.values) && except[key] !== '*')
          .map((key) => `${path}: the table lacks ${name}.${key}`),
      )
      for (const wrong of ['x y', 7, [], new AbortController().signal])
        await mustRefuse(`${name} ${write(wrong)}`, put(wrong))
      for (const [key, inner] of Object.entries(value.values)) {
        if (except[key] === '*') continue
        const misspelt = key.length > 3 ? `${key.slice(0, 1)}${key.slice(2)}` : `${key}x`
        const { [key]: _, ...others } = value.values
        await mustRefuse(`${name}.${misspelt}`, put({ ...others, [misspelt]: inner }), misspelt, `"${key}"`)
        for (const wrong of wrongOf(inner).filter((each) => !isExcepted(except[key], each)))
          await mustRefuse(`${name}.${key} ${write(wrong)}`, put({ ...value.values, [key]: wrong }), key)
      }
    } else {
      const names = at > 0 ? [name] : [] // of the first, the function alone tells enough
      for (const wrong of wrongOf(value).filter((each) => !isExcepted(except[name], each)))
        await mustRefuse(`${name} ${write(wrong)}`, put(wrong), ...names)
    }
  }
  return silent
}

/** Returns the paths of all functions of an object: its own and inherited, down to `depth` objects within. */
export function listFunctions(value: unknown, path: string, depth = 2): readonly string[] {
  if (typeof value === 'function') return [path]
  if (typeof value !== 'object' || value === null || depth < 0 || Array.isArray(value)) return []
  const names = new Set<string>()
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name)
  return [...names].flatMap((name) => listFunctions(Reflect.get(value, name), `${path}.${name}`, depth - 1))
}

type Called = (...args: unknown[]) => unknown

async function refusal(call: Called, args: readonly unknown[]): Promise<string | undefined> {
  try {
    await call(...args)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function wrongOf(value: unknown): readonly unknown[] {
  switch (typeof value) {
    case 'string':
      return [7, {}]
    case 'number':
      return ['3x', Number.NaN, {}]
    case 'boolean':
      return ['no', 1]
    case 'function':
      return ['x y', {}]
    default:
      return Array.isArray(value) ? ['x y', {}, [{}]] : ['x y', 7, true]
  }
}

function isExcepted(excepted: readonly unknown[] | '*' | undefined, wrong: unknown): boolean {
  return excepted === '*' || excepted?.some((each) => write(each) === write(wrong)) === true
}

function write(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
