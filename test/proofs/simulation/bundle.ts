import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { ROOT } from '../../support/repository.ts'
import type { PlantedFault } from './planted/planted-fault.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { type Subject, subject } from './subject.ts'

/** Returns the subject: unchanged, or with a planted fault. */
export async function loadSubject(fault: string | undefined): Promise<Subject> {
  const planted = PLANTED_FAULTS.find(({ name }) => name === fault)
  return planted === undefined ? subject : loadWithFault(planted)
}

/** Bundles the library and the engine with a fault in them, and loads that. */
export async function loadWithFault(fault: PlantedFault): Promise<Subject> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, 'test/proofs/simulation/subject.ts')],
    tsconfig: join(ROOT, 'tsconfig.json'),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'silent',
    plugins: [plant(fault)],
  })
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  const loaded: { readonly subject: Subject } = await import(/* @vite-ignore */ `data:text/javascript;base64,${code}`)
  return loaded.subject
}

/** Returns the text of a file with the fault in it. */
export function patch({ name, file, edits }: PlantedFault, text: string): string {
  let patched = text
  for (const [find, replace] of Object.entries(edits)) {
    const count = patched.split(find).length - 1
    if (count !== 1)
      throw new Error(
        `The planted fault "${name}" does not fit ${file} any more: its text occurs ${count} times there, not once. Adapt it in test/proofs/simulation/planted/: ${JSON.stringify(find)}`,
      )
    patched = patched.replace(find, () => replace)
  }
  return patched
}

function plant(fault: PlantedFault): Plugin {
  return {
    name: 'planted fault',
    setup({ onLoad }) {
      const contents = patch(fault, readFileSync(join(ROOT, fault.file), 'utf8'))
      onLoad({ filter: new RegExp(`${fault.file.replace(/[.]/g, '\\.')}$`) }, () => ({ contents, loader: 'ts' }))
    },
  }
}
