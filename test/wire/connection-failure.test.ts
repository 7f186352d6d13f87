import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { Agent, type AgentOptions, createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { toConnectionFailure } from '../../tools/wire/connection-failure.ts'
import { type ExchangeOptions, exchange } from '../../tools/wire/exchange.ts'
import { findFreePort } from '../support/programs.ts'
import { FOR_CLIENTS, SELF_SIGNED, TEST_KEY, WITHOUT_ISSUER } from './certificates.ts'

/** Sends a request to a server, and returns the failure of the connection. */
async function failAt(server: Server, protocol: 'http' | 'https') {
  return toConnectionFailure(await fail(server, protocol))
}

/** Sends a request to a server, and returns the error of the connection. */
async function fail(server: Server, protocol: 'http' | 'https', connection: Pick<AgentOptions, 'ca'> = {}) {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo // it listens at a port
  const agent = new Agent(connection)
  return failToReach(new URL(`${protocol}://127.0.0.1:${port}/`), protocol === 'https' ? { agent } : {})
}

/** Sends a request, and returns the error of the connection. */
async function failToReach(url: URL, connection: Partial<ExchangeOptions> = {}): Promise<NodeJS.ErrnoException> {
  const options = { signal: AbortSignal.timeout(60_000), agent: false, ...connection } as const
  try {
    await exchange(url, { headers: [], body: new Uint8Array() }, options)
  } catch (error) {
    return error as NodeJS.ErrnoException // of node:http
  }
  throw new Error('it was answered')
}

it('calls a host refused if nothing listens at any of its addresses', async () => {
  const lookup: ExchangeOptions['lookup'] = (_host, _options, callback) =>
    callback(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ])
  const port = await findFreePort()
  const error = await failToReach(new URL(`http://two-addresses.test:${port}/`), { lookup })
  expect(error).toBeInstanceOf(AggregateError)
  expect(toConnectionFailure(error)).toEqual({ kind: 'refused', text: 'the connection was refused' })
})

it('calls a connection that ends without an answer reset', async () => {
  const failure = { kind: 'reset', text: 'the connection ended without an answer' }
  const server = createServer((socket) => void socket.once('data', () => socket.resetAndDestroy()))
  expect(await failAt(server, 'http')).toEqual(failure)
})

it('calls an answer that is not HTTP reset', async () => {
  const server = createServer((socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')))
  expect(await failAt(server, 'http')).toMatchObject({ kind: 'reset', text: expect.stringMatching(/^Parse Error/) })
})

it.each([
  ['that it has signed itself', SELF_SIGNED, 'self-signed certificate'],
  ['whose issuer it does not send', WITHOUT_ISSUER, 'unable to verify the first certificate'],
])('calls a certificate of a host %s a failure of TLS', async (_, cert, text) => {
  const server = createHttpsServer({ key: TEST_KEY, cert })
  expect(await failAt(server, 'https')).toEqual({ kind: 'tls', text })
})

it('calls a certificate that is not for servers a failure of TLS', async () => {
  const server = createHttpsServer({ key: TEST_KEY, cert: FOR_CLIENTS })
  const error = await fail(server, 'https', { ca: FOR_CLIENTS })
  expect(error).toMatchObject({ code: 'INVALID_PURPOSE' })
  expect(toConnectionFailure(error)).toEqual({ kind: 'tls', text: 'unsuitable certificate purpose' })
})

it.each([
  ['ends', (socket: Socket) => socket.end()],
  ['is reset', (socket: Socket) => socket.resetAndDestroy()],
])('calls a connection that %s before TLS is agreed on a failure of TLS', async (_, end) => {
  const server = createServer((socket) => void socket.once('data', () => end(socket)))
  const failure = { kind: 'tls', text: 'the connection ended before TLS was agreed on' }
  expect(await failAt(server, 'https')).toEqual(failure)
})

it('calls a connection that ends once TLS is agreed on reset', async () => {
  const server = createTlsServer({ key: TEST_KEY, cert: SELF_SIGNED }, (socket) => {
    socket.once('data', () => socket.destroy())
  })
  const error = await fail(server, 'https', { ca: SELF_SIGNED })
  expect(toConnectionFailure(error)).toEqual({ kind: 'reset', text: 'the connection ended without an answer' })
})

it('calls https to a port that speaks http a failure of TLS, in one line of text', async () => {
  expect(await failAt(createHttpServer(), 'https')).toEqual({
    kind: 'tls',
    text: expect.stringMatching(/^TLS failed: [a-z ]+$/),
  })
})

it.each([
  ['EHOSTUNREACH', 'refused'],
  ['ENETUNREACH', 'refused'],
  ['ETIMEDOUT', 'refused'],
  ['EADDRNOTAVAIL', 'refused'],
  ['EHOSTDOWN', 'refused'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'tls'],
  ['CERT_HAS_EXPIRED', 'tls'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls'],
  ['UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY', 'tls'],
  ['CRL_HAS_EXPIRED', 'tls'],
  ['EPROTO', 'tls'],
  ['EPROTOTYPE', 'reset'],
  ['HPE_INVALID_CONSTANT', 'reset'],
  ['ECONNABORTED', 'reset'],
])('calls an error with the code %s %s', (code, kind) => {
  const error = Object.assign(new Error(`connect ${code} 192.0.2.1:80`), { code })
  expect(toConnectionFailure(error)).toEqual({ kind, text: `connect ${code} 192.0.2.1:80` })
})

it.each(['ENOTFOUND', 'EAI_AGAIN'])('calls a host without an address (%s) a failure of DNS', (code) => {
  const text = `getaddrinfo ${code} nowhere.invalid`
  expect(toConnectionFailure(Object.assign(new Error(text), { code, syscall: 'getaddrinfo' }))).toEqual({
    kind: 'dns',
    text,
  })
})

it('says that a connection ended if it ended while the body was sent', () => {
  const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })
  expect(toConnectionFailure(error)).toEqual({ kind: 'reset', text: 'the connection ended without an answer' })
})

it('shows the code of an error without a message', () => {
  expect(toConnectionFailure(Object.assign(new Error(), { code: 'EMFILE' }))).toEqual({ kind: 'reset', text: 'EMFILE' })
  const nothing = new AggregateError([], 'all failed')
  expect(toConnectionFailure(nothing)).toEqual({ kind: 'reset', text: 'all failed' })
})
