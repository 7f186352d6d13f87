import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

let page: Promise<string> | undefined

/** Returns the whole page as one text. It is built here in the repository; the package has the built page instead of this module. */
export function loadPage(): Promise<string> {
  page ??= buildPage()
  return page
}

/** Bundles the page's script and style into one HTML text with `__NONCE__` and `__SUBJECT__`, which each answer replaces. */
export async function buildPage(): Promise<string> {
  const folder = fileURLToPath(new URL('../../inspector/', import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [`${folder}main.tsx`, `${folder}style.css`],
    outdir: folder,
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['chrome123', 'firefox120', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    charset: 'ascii',
    tsconfigRaw: {},
  })
  const textOf = (ending: string) => outputFiles.find(({ path }) => path.endsWith(ending))?.text.trim() ?? ''
  // A string in the script must not end the script element.
  const script = textOf('.js').replaceAll('</script', '<\\/script')
  return HTML.replace('__STYLE__', () => textOf('.css')).replace('__SCRIPT__', () => script)
}

/** Replaces this module with the built page in the build of the package. */
export const pagePlugin: Plugin = {
  name: 'page',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]inspector[\\/]load-page\.ts$/ }, async () => ({
      contents: `export const loadPage = async () => ${JSON.stringify(await buildPage())}`,
      loader: 'js',
    }))
  },
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M3 15V7a5 5 0 0 1 10 0v8h-3V8a2 2 0 0 0-4 0v7z' fill='%233b6fd4'/%3E%3C/svg%3E"

const HTML = `<!doctype html>
<html lang="en" data-subject="__SUBJECT__">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Inspector · Postern</title>
<link rel="icon" href="${ICON}">
<style nonce="__NONCE__">__STYLE__</style>
</head>
<body>
<div id="page" class="column"><noscript>The inspector needs JavaScript.</noscript></div>
<script nonce="__NONCE__">__SCRIPT__</script>
</body>
</html>
`
