import { describe, expect, it } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { distinctHosts, type Host, hosts } from './hosts.ts'
import { deliver, expectAnswer, expectUntouched, SECRET, sample, startScene } from './scene.ts'
import { type Headers, head, Wire } from './wire.ts'

/** Behaviour that is the same on every host. Signatures and faulty bodies have their own files. */
describe.each(hosts)('$name', (host: Host) => {
  it.each(['GET', 'HEAD', 'PUT', 'OPTIONS'])('does not answer %s with success', async (method) => {
    const scene = await startScene(host)
    const wire = await Wire.open(scene.port)
    await wire.send(head({ connection: 'close' }, { method }))
    const answer = await wire.answer({ isToHead: method === 'HEAD' })
    const isExpressOptions = host.name.startsWith('Express') && method === 'OPTIONS'
    if (isExpressOptions) expect(answer).toMatchObject({ status: 200, headers: { allow: 'POST' } })
    else expect(answer.status).toBe(host.otherMethods)
    if (answer.status === 405) {
      expect(answer.headers.allow).toBe('POST')
      if (method !== 'HEAD') expectAnswer(answer, 405, 'method_not_allowed')
    }
    await wire.closed()
    expectUntouched(scene)
  })

  it('answers 500 if one throws undefined, and runs it again', async () => {
    let isBroken = true
    const scene = await startScene(host, {}, () => {
      if (isBroken) throw undefined
    })
    const delivery = sample()
    expectAnswer(await deliver(scene, delivery), 500, 'handler_failed', delivery.id)
    isBroken = false
    expectAnswer(await deliver(scene, delivery), 200, 'handled', delivery.id)
    expect(scene.runs.get(delivery.id)).toBe(2)
  })

  it('answers 503 with Retry-After if one is late, and 200 when it has ended', async () => {
    const gate = new Gate()
    const scene = await startScene(host, { deadlineMs: 150 }, () => gate.promise)
    const delivery = sample()
    const answer = await deliver(scene, delivery)
    expectAnswer(answer, 503, 'late', delivery.id)
    expect(answer.headers['retry-after']).toBe('30')
    gate.open()
    expect((await deliver(scene, delivery)).status).toBe(200)
    expect(scene.runs.get(delivery.id)).toBe(1)
  })

  it('passes the source of a request, which may have a query, to the secrets, and late work to waitUntil', async () => {
    const gate = new Gate()
    const late: Promise<unknown>[] = []
    const secret = ({ source }: { readonly source?: string | undefined }) =>
      source === 'to=/acme' ? { secret: SECRET, accountKey: 'acme' } : undefined
    const scene = await startScene(host, { secret, deadlineMs: 150 }, () => gate.promise, {
      source: ({ url }) => url?.split('?').at(1),
      waitUntil: (work) => late.push(work),
    })
    const delivery = sample()
    expectAnswer(await deliver(scene, delivery, {}, '/webhooks?to=/other'), 401, 'unauthorized')
    expectAnswer(await deliver(scene, delivery, {}, '/webhooks?to=/acme'), 503, 'late', delivery.id)
    gate.open()
    await Promise.all(late)
    expect([late.length, scene.outcomes.at(-1)]).toMatchObject([1, { outcome: 'handled', late: true }])
  })

  it('answers 503 when the receiver is closed', async () => {
    const scene = await startScene(host)
    await scene.receiver.close()
    const answer = await deliver(scene, sample())
    expectAnswer(answer, 503, 'closing')
    expect(answer.headers['retry-after']).toBe('30')
    expectUntouched(scene)
  })
})

describe.each(distinctHosts)('$name, by the head of a request,', (host: Host) => {
  it.each<[Headers, number, string]>([
    [{ 'content-encoding': 'gzip' }, 415, 'unsupported_encoding'],
    [{ 'content-length': 104_857_600 }, 413, 'body_too_large'],
  ])('refuses %j before the body arrives', async (headers, status, code) => {
    const scene = await startScene(host)
    const wire = await Wire.open(scene.port)
    await wire.send(head({ ...sample().headers, ...headers }))
    expectAnswer(await wire.answer(), status, code)
    wire.abort()
    expectUntouched(scene)
  })

  it.each([
    ['text/plain', false],
    ['multipart/form-data; boundary=x', false],
    ['application/json; charset=utf-16', false],
    ['', true],
    ['nonsense', true],
    ['application/json\tx', true],
  ])('handles a delivery of type %j, and refuses a forged one', async (type, isOdd) => {
    const scene = await startScene(host)
    const headers = { 'content-type': type }
    const refusal = isOdd && host.refusesOddTypes ? [415] : []
    expect([401, ...refusal]).toContain((await deliver(scene, sample({ tamper: 'flip-bit' }), headers)).status)
    expectUntouched(scene)
    const { status } = await deliver(scene, sample(), headers)
    expect([200, ...refusal]).toContain(status)
    expect(scene.runs.size).toBe(status === 200 ? 1 : 0)
  })

  it('accepts HTTP/1.0', async () => {
    const scene = await startScene(host)
    const { bytes, headers, id } = sample()
    const wire = await Wire.open(scene.port)
    await wire.send(head(headers, { version: '1.0' }), bytes)
    expectAnswer(await wire.answer(), 200, 'handled', id)
    await wire.closed()
  })

  it('accepts Expect: 100-continue', async () => {
    const scene = await startScene(host)
    const { bytes, headers, id } = sample()
    const wire = await Wire.open(scene.port)
    await wire.send(head({ ...headers, expect: '100-continue' }))
    expect((await wire.answer()).status).toBe(100)
    await wire.send(bytes)
    expectAnswer(await wire.answer(), 200, 'handled', id)
    wire.abort()
  })
})
