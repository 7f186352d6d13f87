import { createRequire } from 'node:module'

/** The version of the package, read where it is needed only. */
export function readVersion(): string {
  // By the name of the package: this file is nearer to package.json once it is built.
  const { version }: { readonly version: string } = createRequire(import.meta.url)('postern/package.json')
  return version
}
