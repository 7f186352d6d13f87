import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root folder of this repository, with a slash at its end. */
export const ROOT: string = fileURLToPath(new URL('../../', import.meta.url))

/** Returns the text of one file, by its path from the root. */
export function readText(path: string): string {
  return readFileSync(ROOT + path, 'utf8')
}

/** Returns the paths from the root, with forward slashes, of all files in a folder and below that end in one of the extensions. */
export function listFiles(folder: string, ...extensions: readonly string[]): readonly string[] {
  return readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' })
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => extensions.some((extension) => path.endsWith(extension)))
    .sort()
}

/** Paths of all documents that people read, from the root. */
export function listDocuments(): readonly string[] {
  const own = ['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
  return [...own, ...listFiles('docs', '.md')]
}
