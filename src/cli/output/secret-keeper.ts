import { access, readFile } from 'node:fs/promises'
import type { SecretKeeper } from '../../client/client.ts'
import { readEnvFile, writeEnvFile } from '../input/env-file.ts'
import { EXIT, ExitError, type Io } from '../io.ts'
import { holdPlace } from './hold-place.ts'
import { replaceFile } from './replace-file.ts'

/** Options that name the place of a secret. */
export interface KeeperOptions {
  readonly secretFile?: string
  readonly toEnv?: string
  readonly secretEnv: string
}

/** A place for one secret and the id of its webhook, so that a command that was interrupted can go on. No other run can use it meanwhile. */
export interface NamedKeeper extends SecretKeeper, AsyncDisposable {
  /** For messages. */
  readonly name: string
}

/**
 * Opens the place that was asked for: a file with the secret alone, beside which FILE.webhook holds the id, or an env file with both.
 * Ends the command if a secret is there of which no webhook is known: it is not overwritten.
 */
export async function openKeeper({ secretFile, toEnv, secretEnv }: KeeperOptions, io: Io): Promise<NamedKeeper> {
  if ((secretFile === undefined) === (toEnv === undefined))
    throw new ExitError(EXIT.usage, 'Give --secret-file or --to-env: the secret is shown only once.')
  const { name, hasAny, readId, save } =
    secretFile === undefined ? inEnvFile(`${toEnv}`, secretEnv) : inFile(secretFile)
  const held = await holdPlace(secretFile ?? `${toEnv}`, hasAny, io)
  try {
    if ((await hasAny()) && (await readId()) === undefined)
      throw new ExitError(EXIT.usage, `${name} holds a secret already, and is not overwritten. Name another place.`)
  } catch (error) {
    await held[Symbol.asyncDispose]()
    throw error
  }
  return {
    name,
    hasSecret: async (id) => (await hasAny()) && (await readId()) === id,
    saveSecret: async (secret, { id }) => {
      if (await hasAny())
        throw new Error(
          'it holds the secret of another webhook, and is not overwritten: move it away, or name another place',
        )
      await save(secret, id)
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  }
}

/** One place, whatever it is. */
interface Place {
  readonly name: string
  hasAny(): Promise<boolean>
  readId(): Promise<string | undefined>
  save(secret: string, id: string): Promise<void>
}

function inFile(path: string): Place {
  const idPath = `${path}.webhook`
  return {
    name: path,
    hasAny: () => isThere(path),
    readId: async () => ((await isThere(idPath)) ? (await readFile(idPath, 'utf8')).trim() : undefined),
    // The id first: a secret without one could not be told from any other.
    async save(secret, id) {
      await replaceFile(idPath, `${id}\n`)
      await replaceFile(path, `${secret}\n`)
    },
  }
}

function inEnvFile(file: string, variable: string): Place {
  const idVariable = `${variable}_WEBHOOK_ID`
  return {
    name: `${variable} in ${file}`,
    hasAny: async () => (await readEnvFile(file, variable)) !== undefined,
    readId: () => readEnvFile(file, idVariable),
    save: (secret, id) => writeEnvFile(file, { [idVariable]: id, [variable]: secret }),
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
