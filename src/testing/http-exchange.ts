import { type ClientRequest, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { sendParts, type TargetAnswer, type TargetRequest, withLength } from './target.ts'

/** One request over HTTP/1.1, and its answer. Redirects are not followed. */
export function exchange(url: URL, request: TargetRequest, options: RequestOptions): Promise<TargetAnswer> {
  return new Promise((resolve, reject) => {
    const { signal } = request
    if (signal.aborted) return reject(signal.reason)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const client = send(url, { ...options, method: 'POST', headers: toLists(withLength(request)) })
    const cut = () => client.destroy()
    const end = () => signal.removeEventListener('abort', cut)
    signal.addEventListener('abort', cut, { once: true })
    client.on('response', (response) => {
      readAnswer(response).then(resolve, reject).finally(end)
    })
    client.on('error', (error) => {
      end()
      reject(error)
    })
    writeBody(client, request).catch(ignore) // the request was cut, which its own error tells
  })
}

async function writeBody(client: ClientRequest, request: TargetRequest): Promise<void> {
  client.flushHeaders()
  for await (const part of sendParts(request)) client.write(part)
  client.end()
}

async function readAnswer(response: IncomingMessage): Promise<TargetAnswer> {
  const parts: Uint8Array[] = []
  for await (const part of response) parts.push(part)
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
  const body = Buffer.concat(parts).toString()
  return { status: response.statusCode ?? 0, headers: Object.fromEntries(headers), body }
}

/** Lists are written as several lines of one name. */
function toLists(headers: TargetRequest['headers']): Record<string, string | string[]> {
  const lists: Record<string, string | string[]> = {}
  for (const [name, value] of headers) {
    const before = lists[name]
    lists[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value]
  }
  return lists
}

const ignore = () => {}
