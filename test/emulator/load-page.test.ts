import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { buildPage, pagePlugin } from '../../tools/emulator/inspector/load-page.ts'
import { ROOT } from '../support/repository.ts'

describe('the page', () => {
  it('is in the package as a text, in place of the module that builds it', async () => {
    const { outputFiles } = await build({
      entryPoints: [`${ROOT}tools/emulator/inspector/load-page.ts`],
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
      external: ['esbuild'],
      plugins: [pagePlugin],
    })
    const text = outputFiles[0]?.text ?? ''
    expect(text.includes('esbuild')).toBe(false)
    const module = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
    expect((await module.loadPage()) === (await buildPage())).toBe(true)
  })
})
