import { HEADER, isSigned } from '../receivers/by-hand.mjs'
import { serveFetch } from './fetch-bridge.mjs'

export const createListener = (onEvent) =>
  serveFetch(async (request) => {
    const body = Buffer.from(await request.arrayBuffer())
    if (!isSigned(body, request.headers.get(HEADER))) return Response.json({ error: 'unauthorized' }, { status: 401 })
    onEvent(JSON.parse(body.toString()).data.record)
    return Response.json({ ok: true })
  })
