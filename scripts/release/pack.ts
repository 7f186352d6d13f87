import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTENTS, compareContents, type PackedFile } from './contents.ts'
import { run } from './run.ts'

/** A tarball, and what is in it. */
export interface Packed {
  readonly path: string
  readonly files: readonly PackedFile[]
}

/** Builds the package of a tree and packs it into a folder. */
export async function pack(tree: string, folder: string): Promise<Packed> {
  await run(tree, 'npm', 'run', '--silent', '--if-present', 'prepack')
  const report = await run(tree, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', folder)
  const [packed] = Object.values(JSON.parse(report)) as { filename: string; files: PackedFile[] }[] // npm's own report
  if (packed === undefined) throw new Error('npm pack reported no tarball')
  return { path: join(folder, packed.filename), files: packed.files }
}

/** Packs a tree and compares what came out with its committed list. Rejects with all that differs. */
export async function packAsListed(tree: string, folder: string): Promise<Packed> {
  const packed = await pack(tree, folder)
  const differences = compareContents(await readFile(join(tree, CONTENTS), 'utf8'), packed.files)
  if (differences.length > 0)
    throw new Error(
      `the tarball is not as ${CONTENTS} lists it:\n  ${differences.join('\n  ')}\n` +
        'If all of that is meant: npm run release -- --contents, read the difference, and commit it.',
    )
  return packed
}
