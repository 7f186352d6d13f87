import { DEFAULT_PORT } from '../input/emulator-options.ts'
import { parseEnvFile } from '../input/env-file.ts'
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

/**
 * The variables of the environment, or of the env file in its place, which has to be there. It is read once, since it may be a pipe:
 * `--env <(decrypt secrets)`.
 */
export async function readVariables({ env, envFile }: EnvOptions, io: Io): Promise<Io['env']> {
  const file = env ?? envFile
  return file === undefined ? io.env : parseEnvFile(await readBytes(file), file)
}
