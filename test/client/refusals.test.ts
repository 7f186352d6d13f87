import { ServiceError } from 'postern/client'
import { describe, expect, it } from 'vitest'
import { WEBHOOK } from './replies.ts'
import { clientOf, failureOf, serve } from './support.ts'

describe('a refusal', () => {
  const long = 'x'.repeat(5_000)
  it.each<[string, number, unknown, string, string | undefined]>([
    [
      '{statusCode, error, message}',
      422,
      { statusCode: 422, error: 'Unprocessable', message: 'bad url' },
      'request_refused',
      'bad url',
    ],
    ['{error: {code, message}}', 400, { error: { code: 'x', message: 'bad url' } }, 'request_refused', 'bad url'],
    ['a list of messages', 400, { message: ['bad url', 'bad events'] }, 'request_refused', 'bad url; bad events'],
    ['problem+json', 404, { title: 'Not found', detail: 'no such thing' }, 'not_found', 'no such thing'],
    ['a list of errors', 400, { errors: [{ message: 'bad url' }] }, 'request_refused', 'bad url'],
    ['text', 403, 'forbidden', 'not_found', 'forbidden'],
    ['nothing, which is no redirect', 304, undefined, 'request_refused', undefined],
    ['JSON of no form', 410, [[[[['deep']]]]], 'request_refused', undefined],
    ['JSON with a long text', 400, { message: long }, 'request_refused', long.slice(0, 300)],
    ['an empty message beside another', 400, { message: '', detail: 'bad url' }, 'request_refused', 'bad url'],
    ['messages of other types beside one', 400, { message: 5, detail: null, title: 'no' }, 'request_refused', 'no'],
    ['lists in lists', 400, [[[['bad url']]]], 'request_refused', 'bad url'],
    ['errors in errors', 400, { error: { error: { error: { error: { error: 'x' } } } } }, 'request_refused', undefined],
    ['JSON that is null', 400, null, 'request_refused', undefined],
    ['HTML after blanks', 400, '\n <html><h1>Nope</h1></html>', 'request_refused', undefined],
  ])('is understood as far as possible: %s', async (_form, status, body, code, serviceMessage) => {
    const service = await serve(() => ({ status, body }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({
      code,
      status,
      serviceMessage,
      attempts: 1,
      route: 'GET /api/integrations/webhooks/w1',
    })
    expect((error as ServiceError).body?.length).toBeLessThanOrEqual(2_048) // it is one, see above
  })

  it('of a call that may be sent only once is reported as such, not as an unknown outcome', async () => {
    const service = await serve(() => ({ status: 400 }))
    const refused = clientOf(service).webhooks.create({ url: WEBHOOK.url, events: WEBHOOK.events })
    const message = 'POST /api/integrations/webhooks: the service refuses the request (status 400)'
    expect(await failureOf(refused)).toMatchObject({ code: 'request_refused', message, attempts: 1 })
  })
})

describe('redirects', () => {
  it.each([301, 302, 303, 307, 308])('are not followed: %d', async (status) => {
    const elsewhere = await serve(() => ({ body: WEBHOOK }))
    const service = await serve(() => ({ status, headers: { location: `${elsewhere.url}/x?token=1` } }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'redirect_refused', status })
    expect(String(error)).toContain(`redirects to ${elsewhere.url}.`)
    expect(elsewhere.seen).toEqual([])
  })

  it.each<[string, Record<string, string>]>([
    ['no address', {}],
    ['a path', { location: '/elsewhere?token=1' }],
  ])('are reported without an address if they have %s', async (_what, headers) => {
    const service = await serve(() => ({ status: 302, headers }))
    const error = await failureOf(clientOf(service).webhooks.get('w1'))
    expect(error).toMatchObject({ code: 'redirect_refused' })
    expect(String(error)).toContain(': the service redirects. ')
  })

  it('keeps the text of the service on the line of its message', async () => {
    const message = 'no\r\npostern: all is well\u2028\u001b[2J'
    const service = await serve(() => ({ status: 400, body: { message } }))
    const error = await failureOf(clientOf(service).webhooks.list())
    const line = expect.stringMatching(/\(status 400: no postern: all is well \[2J\)$/)
    expect(error).toMatchObject({ message: line, serviceMessage: message })
  })
})
