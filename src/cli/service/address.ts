import { parseEnv } from 'node:util'
import { DEFAULT_PORT } from '../input/emulator-options.ts'
import { readBytes } from '../input/read-bytes.ts'
import type { Io } from '../io.ts'

/** The variable that holds the address of the service, or of an emulator. */
export const BASE_URL = 'POSTERN_BASE_URL'

/** The address of an emulator that was given no port. */
export const EMULATOR_URL = `http://127.0.0.1:${DEFAULT_PORT}`

/** The env file that stands in for the environment. */
export interface EnvOptions {
  readonly env?: string
  readonly envFile?: string
}

/** A variable of the environment, or of the env file in its place, which has to be there. Undefined if it is empty. */
export async function readVariable(name: string, { env, envFile }: EnvOptions, io: Io): Promise<string | undefined> {
  const file = env ?? envFile
  return (file === undefined ? io.env[name] : parseEnv(`${await readBytes(file)}`)[name]) || undefined
}
