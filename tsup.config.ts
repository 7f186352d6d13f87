import { defineConfig } from 'tsup'
import { entries, programs } from './scripts/entries.ts'
import { pagePlugin } from './src/emulator/inspector/load-page.ts'

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
  esbuildPlugins: [pagePlugin], // the inspector's page is built into the package
})
