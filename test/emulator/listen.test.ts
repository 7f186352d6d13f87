import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { listen, stop, urlOf } from '../../tools/emulator/http/listen.ts'
import { until } from './support.ts'

const answer = () => new Response('hello')

async function open(options: { port?: number; host?: string } = {}, fetch: (request: Request) => unknown = answer) {
  const server = await listen(fetch, { port: 0, host: '127.0.0.1', owner: 'The test', ...options })
  onTestFinished(async () => {
    if (server.listening) await stop(server)
  })
  return server
}

it('a server that stops cuts its connections, with or without a request', async () => {
  const server = await open({}, () => new Promise(() => {}))
  const { port } = new URL(urlOf(server, '127.0.0.1'))
  const [idle, waiting] = [connect(Number(port), '127.0.0.1'), connect(Number(port), '127.0.0.1')]
  const ends = [idle, waiting].map((socket) => new Promise((resolve) => socket.on('close', resolve)))
  waiting.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => idle.readyState === 'open' && waiting.readyState === 'open')
  await stop(server)
  for (const socket of [idle, waiting]) socket.on('error', () => {})
  await Promise.all(ends)
})

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['localhost', 'localhost'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '127.0.0.1'],
  ['::1', '[::1]'],
])('the URL of a server on %s has the host %s', async (host, name) => {
  const server = await open()
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : address
  expect(urlOf(server, host)).toBe(`http://${name}:${port}`)
})

it.each(['192.0.2.1', 'no such host'])(
  'an address that is not of this machine is reported with the fix: %s',
  async (host) => {
    await expect(open({ host })).rejects.toMatchObject({
      code: 'port_in_use',
      message: expect.stringMatching(/\. Give an address of this machine as host\.$/),
    })
  },
)
