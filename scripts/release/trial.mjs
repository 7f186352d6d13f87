/**
 * Tries the package that is installed in the working folder: every subpath loads by `import` and by `require()`, or says
 * what to install; a receiver answers a signed delivery and a forged one over HTTP; the program says its version.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { createReceiver } from 'postern'
import { nodeHandler } from 'postern/node'
import { events, signed, silentLogger } from 'postern/testing'

const require = createRequire(import.meta.url)
const { exports, version } = JSON.parse(readFileSync('node_modules/postern/package.json', 'utf8'))

/** Loads a subpath both ways. Returns false if the error says what to install. */
async function load(name) {
  try {
    await import(name)
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes('npm install ')) return false
    throw error
  }
  require(name)
  return true
}

async function deliver(url, tamper) {
  const secret = 'secret-of-the-trial'
  const receiver = createReceiver({ secret, logger: silentLogger }).on('contact.*', () => {})
  const server = createServer(nodeHandler(receiver)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const request = signed(events.contact.created(), { secret, tamper }).request(`${url}:${server.address().port}`)
  const { status } = await fetch(request)
  server.close()
  server.closeAllConnections()
  return status
}

const subpaths = Object.keys(exports).filter((path) => path !== './package.json')
let loaded = 0
for (const path of subpaths) if (await load(`postern${path.slice(1)}`)) loaded += 1
assert.ok(loaded > subpaths.length / 2, `${loaded} of ${subpaths.length} subpaths load`)

assert.equal(await deliver('http://127.0.0.1', 'none'), 200)
assert.equal(await deliver('http://127.0.0.1', 'flip-bit'), 401)
const said = execFileSync(process.execPath, ['node_modules/postern/dist/cli.js', '--version'], { encoding: 'utf8' })
assert.equal(said.trim(), version)
console.log(
  `Node ${process.versions.node}: ${loaded} of ${subpaths.length} subpaths load without peers, 200 and 401, postern ${version}`,
)
