import { Script } from 'node:vm'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { buildPage, loadPage, pagePlugin } from '../../src/emulator/inspector/load-page.ts'
import { ROOT } from '../support/repository.ts'

/** Text of the only element of that name. */
function readElement(page: string, name: string): string {
  const parts = page.split(new RegExp(`<${name} nonce="__NONCE__">|</${name}>`))
  if (parts.length !== 3) throw new Error(`the page has ${(parts.length - 1) / 2} elements ${name}`)
  return parts[1] ?? ''
}

describe('the page', () => {
  it('contains its whole script, which needs no other file', async () => {
    const script = readElement(await buildPage(), 'script')
    expect(() => new Script(script)).not.toThrow()
    expect(script.length).toBeGreaterThan(20_000)
    expect(/\brequire\(/.test(script)).toBe(false)
    expect(script === script.trim()).toBe(true)
  })

  it('is built once in a process', async () => {
    expect(loadPage()).toBe(loadPage())
    expect((await loadPage()) === (await buildPage())).toBe(true)
  })

  it('is in the package as a text, in place of the module that builds it', async () => {
    const { outputFiles } = await build({
      ...{ entryPoints: [`${ROOT}src/emulator/inspector/load-page.ts`], bundle: true, write: false },
      ...{ format: 'esm', platform: 'node', external: ['esbuild'], plugins: [pagePlugin] },
    })
    const text = outputFiles[0]?.text ?? ''
    expect(text.includes('esbuild')).toBe(false)
    const module = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)
    expect((await module.loadPage()) === (await buildPage())).toBe(true)
  })
})
