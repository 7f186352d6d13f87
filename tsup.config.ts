import { defineConfig } from 'tsup'
import { entries, programs } from './scripts/entries.ts'

export default defineConfig({
  entry: { ...entries, ...programs },
  format: 'esm',
  target: 'node20',
  platform: 'node',
  splitting: true, // else each subpath gets its own copy of the error classes
  removeNodeProtocol: false,
  dts: true,
  sourcemap: false,
  clean: true,
})
