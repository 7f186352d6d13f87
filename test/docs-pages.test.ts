import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listAnchors, listLinks } from './support/markdown.ts'
import { listDocuments, listFiles, ROOT, readText } from './support/repository.ts'

// How the documents hang together. What stands in them is judged by docs.test.ts.

describe('the indexes of docs/', () => {
  const indexes = listFiles('docs', '/README.md')
  const linksOf = (path: string) =>
    listLinks(readText(path)).map((link) => join(dirname(path), link.replace(/#.*/, '')))

  it('are all named in docs/README.md, which the README links to', () => {
    expect(linksOf('README.md')).toContain('docs/README.md')
    // Folders that are not in the package are named, not linked to.
    const others = indexes.map(dirname).filter((folder) => folder !== 'docs')
    expect(others.filter((folder) => !readText('docs/README.md').includes(`\`${folder}\``))).toEqual([])
  })

  it('list every page, each folder its own or the first index all', () => {
    const missing = listFiles('docs', '.md').filter((path) => {
      const own = `${dirname(path)}/README.md`
      const index = indexes.includes(own) ? own : 'docs/README.md'
      return path !== index && !linksOf(index).includes(path)
    })
    expect(missing).toEqual([])
  })
})

it('llms.txt, for programs that read the package, links to every page for users, and to nothing else', () => {
  const pages = ['docs', 'docs/guides', 'docs/reference'].flatMap((folder) =>
    listFiles(folder, '.md').filter((path) => dirname(path) === folder),
  )
  const links = [...readText('llms.txt').matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link)
  expect(links.sort()).toEqual(['README.md', ...pages].sort())
})

describe('links between the documents', () => {
  const anchors = new Map<string, readonly string[]>()
  const anchorsOf = (path: string) => {
    const known = anchors.get(path) ?? listAnchors(readText(path))
    anchors.set(path, known)
    return known
  }
  const isDead = (document: string, link: string) => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? document : join(dirname(document), path)
    return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor))
  }

  it.each(listDocuments())('lead somewhere: %s', (document) => {
    const links = listLinks(readText(document)).filter((link) => !/^https?:/.test(link))
    expect(links.filter((link) => isDead(document, link))).toEqual([])
  })
})

describe('docs/decisions', () => {
  const notes = listFiles('docs/decisions', '.md').filter((path) => !path.endsWith('/README.md'))
  const rows = readText('docs/decisions/README.md')
    .split('\n')
    .filter((line) => line.startsWith('- '))

  it('are each listed once, by number and title', () => {
    const listed = rows.map((row) => /^- \[(.*?)\]\(([\w.-]+)\)/.exec(row)?.slice(1))
    const expected = notes.map((path) => [
      readText(path).split('\n')[0]?.slice(2),
      path.slice('docs/decisions/'.length),
    ])
    expect(listed.sort()).toEqual(expected.sort())
  })
})
