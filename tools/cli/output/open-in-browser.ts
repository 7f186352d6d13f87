import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { platform } from 'node:process'
import { type Io, tell } from '../io.ts'

/** Opens a page in the browser that BROWSER names, or in that of the system. Rejects if there is none. */
export async function openInBrowser(url: string, io: Io, system: NodeJS.Platform = platform): Promise<void> {
  const [program, ...args] = commandOf(io.env.BROWSER, system)
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  child.unref()
  try {
    await once(child, 'spawn')
    child.on('error', () => {}) // it was started
    tell(io, `opened ${url}`)
  } catch {
    throw new Error(`no browser could be started; open ${url}`)
  }
}

function commandOf(browser: string | undefined, system: NodeJS.Platform): readonly [string, ...string[]] {
  if (browser !== undefined && browser !== '') return [browser]
  if (system === 'darwin') return ['open']
  return system === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open']
}
