import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { EXIT, ExitError } from './io.ts'

/** The value that an env file sets; undefined where the file is not there or does not set it. */
export async function readEnvFile(file: string, name: string): Promise<string | undefined> {
  try {
    const value = parseEnv(await readFile(file, 'utf8'))[name]
    return value === '' ? undefined : value
  } catch (error) {
    if (isMissing(error)) return undefined
    throw new ExitError(EXIT.usage, `${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
