import { readFile, stat } from 'node:fs/promises'
import type { SecretKeeper } from '../../../src/client/client.ts'
import { readEnvFile, writeEnvFile } from '../input/env-file.ts'
import { type Io, usageError } from '../io.ts'
import { holdFile, replaceFile } from './own-file.ts'

export interface KeeperOptions {
  readonly secretFile?: string
  readonly toEnv?: string
  readonly secretEnv: string
}

/** A place for one secret and the id of its webhook, so that an interrupted command can continue. Other runs wait for it. */
export interface NamedKeeper extends AsyncDisposable {
  readonly name: string
  readonly keeper: SecretKeeper
}

/**
 * Opens the place of a secret: a file with the secret alone, beside which FILE.webhook holds the id, or an env file with both. Ends the
 * command if the place has a secret of an unknown webhook, which would be overwritten.
 */
export async function openKeeper({ secretFile, toEnv, secretEnv }: KeeperOptions, io: Io): Promise<NamedKeeper> {
  if ((secretFile === undefined) === (toEnv === undefined))
    throw usageError('Give --secret-file or --to-env: the secret is shown only once.')
  const { name, hasAny, readId, save } =
    secretFile === undefined ? inEnvFile(`${toEnv}`, secretEnv) : inFile(secretFile)
  const held = await holdFile(secretFile ?? `${toEnv}`, hasAny, io)
  try {
    if ((await hasAny()) && (await readId()) === undefined)
      throw usageError(`${name} holds a secret already, and is not overwritten. Name another place.`)
  } catch (error) {
    await held[Symbol.asyncDispose]()
    throw error
  }
  return {
    name,
    keeper: {
      hasSecret: async (id) => (await hasAny()) && (await readId()) === id,
      saveSecret: async (secret, { id }) => {
        if (await hasAny())
          throw new Error(
            'it holds the secret of another webhook, and is not overwritten: move it away, or name another place',
          )
        await save(secret, id)
      },
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  }
}

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
    hasAny: () => stat(path).then(Boolean, () => false),
    readId: async () => (await readFile(idPath, 'utf8').catch(() => undefined))?.trim(),
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
