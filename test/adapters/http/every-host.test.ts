import { describe, expect, it } from 'vitest'
import { Gate } from '../../support/gate.ts'
import { distinctHosts, type Host, hosts } from './hosts.ts'
import { deliver, expectAnswer, expectHandled, expectUntouched, sample, startScene } from './scene.ts'
import { head, Wire } from './wire.ts'

/** Behaviour that is the same on every host. Signatures, faulty bodies, and crowds have their own files. */
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
  it.each(['gzip', 'gzip, identity'])('refuses the content encoding %s before the body arrives', async (encoding) => {
    const scene = await startScene(host)
    const wire = await Wire.open(scene.port)
    await wire.send(head({ ...sample().headers, 'content-encoding': encoding }))
    expectAnswer(await wire.answer(), 415, 'unsupported_encoding')
    wire.abort()
    expectUntouched(scene)
  })

  it('accepts the content encoding identity', async () => {
    const scene = await startScene(host)
    await expectHandled(scene, { headers: { 'content-encoding': 'identity' } })
  })

  it.each(['text/plain', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16'])(
    'handles a delivery of type %s, and refuses a forged one',
    async (type) => {
      const scene = await startScene(host)
      const headers = { 'content-type': type }
      expectAnswer(await deliver(scene, sample({ tamper: 'flip-bit' }), headers), 401, 'unauthorized')
      expectUntouched(scene)
      await expectHandled(scene, { headers })
    },
  )

  it.each(['', 'nonsense', 'application/json\tx'])(
    'never lets an invalid type, %j, decide about a signature',
    async (type) => {
      const scene = await startScene(host)
      const odd = { 'content-type': type }
      const forged = await deliver(scene, sample({ tamper: 'flip-bit' }), odd)
      expect(forged.status).toBe(host.refusesOddTypes && forged.status === 415 ? 415 : 401)
      expectUntouched(scene)
      const right = await deliver(scene, sample(), odd)
      expect(right.status).toBe(host.refusesOddTypes && right.status === 415 ? 415 : 200)
      expect(scene.runs.size).toBe(right.status === 200 ? 1 : 0)
    },
  )

  it('accepts a query string', async () => {
    const scene = await startScene(host)
    await expectHandled(scene, { target: '/webhooks?a=1&b=/x' })
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

  it('answers a declared 100 MB before any of it arrives', async () => {
    const scene = await startScene(host)
    const wire = await Wire.open(scene.port)
    await wire.send(head({ ...sample().headers, 'content-length': 104_857_600 }))
    expectAnswer(await wire.answer(), 413, 'body_too_large')
    wire.abort()
    expectUntouched(scene)
  })
})
