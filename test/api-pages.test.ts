import { describe, expect, it } from 'vitest'
import { drawApiPages } from '../scripts/api-pages.ts'
import { listFiles, readText } from './support/repository.ts'

describe('docs/reference/api', () => {
  const pages = drawApiPages()

  it('has a page for each subpath, and no other', () => {
    expect(listFiles('docs/reference/api', '.md')).toEqual(
      [...pages.keys()].map((file) => `docs/reference/api/${file}`).sort(),
    )
  })

  it.each([...pages])('is written from the source as it is now: %s', (file, text) => {
    expect(readText(`docs/reference/api/${file}`), 'run npx tsx scripts/api-pages.ts').toBe(text)
  })
})
