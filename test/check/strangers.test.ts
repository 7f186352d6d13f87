import type { RequestListener } from 'node:http'
import { describe, expect, it } from 'vitest'
import { checkAt, told } from './judge.ts'

const answering =
  (status: number, headers: Readonly<Record<string, string>> = {}, text = ''): RequestListener =>
  (request, response) =>
    void request.resume().on('end', () => response.writeHead(status, headers).end(text))

const PAGE = answering(200, { 'content-type': 'text/html; charset=utf-8' }, '\n<!DOCTYPE html><title>Shop</title>')

/** A receiver whose framework calls its short answer HTML. */
const SAYS_OK: RequestListener = (request, response) => {
  const isForged = String(request.headers['x-service-signature']).endsWith('0000')
  const answer = answering(isForged ? 401 : 200, { 'content-type': 'text/html; charset=utf-8' }, 'ok')
  answer(request, response)
}

describe('a target that takes no plain delivery', () => {
  it.each<readonly [what: string, code: string, answer: RequestListener, only: string]>([
    ['a wrong path', 'not_there', answering(404), 'signature'],
    ['a path for GET only', 'not_there', answering(405), 'signature'],
    ['a redirect', 'redirect', answering(301, { location: '/webhooks/' }), 'get-not-2xx'],
    ['a wrong path', 'not_there', answering(404), 'get-not-2xx'],
    ['a receiver that refuses everything', 'refused', answering(401), 'signature-large-body'],
    ['the page of a website', 'not_there', PAGE, 'bytes'],
    ['the page of a website', 'not_there', PAGE, 'time'],
    ['the page of a website', 'not_there', PAGE, 'accepts-valid'],
  ])('passes no check: %s is %s', async (_what, code, answer, only) => {
    const { report } = await checkAt(answer, { only: [only] })
    expect(report.diagnosis?.code).toBe(code)
    expect(report.checks[0]).toMatchObject({ id: 'accepts-valid', status: 'fail' })
    expect(told(report, 'pass', 'info')).toEqual({})
  })

  it('is no receiver that accepts one, whatever its framework calls a short answer', async () => {
    const { report } = await checkAt(SAYS_OK, { only: ['time'] })
    expect(report.summary).toEqual({ pass: report.checks.length, fail: 0, warn: 0, info: 0, skipped: 0 })
  })
})
