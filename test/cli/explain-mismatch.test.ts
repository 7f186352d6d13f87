import { createHmac } from 'node:crypto'
import { sign } from 'postern'
import { describe, expect, it } from 'vitest'
import { explainMismatch } from '../../tools/cli/output/explain-mismatch.ts'

const SECRET = 'test-secret'
const BODY = '{"id": "evt_1", "name": "Zoë", "url": "https://example.test/"}\n'
const COMPACT = JSON.stringify(JSON.parse(BODY))
const LINES = JSON.stringify(JSON.parse(BODY), null, 2)
const FOUR = JSON.stringify(JSON.parse(BODY), null, 4)
const PYTHON = BODY.trim().replace('ë', '\\u00eb')
const PHP = COMPACT.replaceAll('/', '\\/').replace('ë', '\\u00eb')
const right = sign(BODY, SECRET)
const hmac = createHmac('sha256', SECRET).update(BODY)
const signWith = (key: string, text: string) => `sha256=${createHmac('sha256', key).update(text).digest('hex')}`
const base64 = hmac.digest('base64')

const codesOf = (body: string | Uint8Array, header: string, secret = SECRET) =>
  explainMismatch(Buffer.from(body), header, secret).map(({ code }) => code)

describe('a mismatch', () => {
  it.each([
    ['nothing', BODY, right, SECRET, []],
    ['blanks around the header', BODY, ` ${right} `, SECRET, []],
    ['quotes around the header', BODY, `"${right}"`, SECRET, ['header_quotes']],
    ['blanks around the header of another body', COMPACT.slice(1), ` ${right} `, SECRET, ['header_blanks', 'no_match']],
    ['no header', BODY, '', SECRET, ['header_missing']],
    ['no prefix', BODY, right.slice(7), SECRET, ['no_prefix']],
    ['SHA-1', BODY, 'sha1=00', SECRET, ['sha1']],
    ['base64', BODY, `sha256=${base64}`, SECRET, ['base64']],
    ['base64 without a prefix', BODY, base64, SECRET, ['no_prefix', 'base64']],
    ['a header cut off', BODY, right.slice(0, -2), SECRET, ['wrong_length']],
    ['letters among the digits', BODY, `${right.slice(0, -1)}g`, SECRET, ['not_hex']],
    ['a blank behind the secret', BODY, right, `${SECRET} `, ['secret_blanks']],
    ['a trimmed line break', BODY.trim(), right, SECRET, ['final_newline']],
    ['an added line break', `${BODY}\n`, right, SECRET, ['final_newline']],
    ['a line break of Windows', LINES, sign(`${LINES}\r\n`, SECRET), SECRET, ['final_newline']],
    ['CRLF for LF', `\r\n${BODY.replace(/\n/g, '\r\n')}`, sign(`\n${BODY}`, SECRET), SECRET, ['line_breaks']],
    ['a byte order mark', `\ufeff${BODY}`, right, SECRET, ['byte_order_mark']],
    ['a body that was parsed and written again', COMPACT, sign(BODY.trim(), SECRET), SECRET, ['reserialised']],
    ['a body that Python wrote again', COMPACT, sign(PYTHON, SECRET), SECRET, ['reserialised']],
    ['a body that was compressed from 2 blanks', COMPACT, sign(LINES, SECRET), SECRET, ['reserialised']],
    ['a body compressed from 2 blanks and a break', COMPACT, sign(`${LINES}\n`, SECRET), SECRET, ['reserialised']],
    ['a body that was compressed from 4 blanks', COMPACT, sign(FOUR, SECRET), SECRET, ['reserialised']],
    ['a body compressed from 4 blanks and a break', COMPACT, sign(`${FOUR}\n`, SECRET), SECRET, ['reserialised']],
    ['a body that PHP wrote', BODY, sign(PHP, SECRET), SECRET, ['reserialised']],
    ['a body that is no JSON', BODY.slice(1), right, SECRET, ['no_match']],
    ['a blank and a rewriting', COMPACT, sign(BODY.trim(), SECRET), ` ${SECRET}`, ['secret_blanks', 'reserialised']],
    ['no secret of the sender', BODY, signWith('undefined', BODY), SECRET, ['secret_missing']],
    ['a line break behind the secret of the sender', BODY, signWith(`${SECRET}\n`, BODY), SECRET, ['secret_edges']],
    ['the body as the key', BODY, signWith(BODY, SECRET), SECRET, ['swapped']],
    ['another secret', BODY, sign(BODY, 'another'), SECRET, ['no_match']],
    ['a body that was decoded', BODY.replace('ë', '\ufffd'), right, SECRET, ['decoded', 'no_match']],
  ])('is explained: %s', (_what, body, header, secret, codes) => {
    expect(codesOf(body, header, secret)).toEqual(codes)
  })

  it('is explained without a secret or a digest', () => {
    for (const { text } of explainMismatch(Buffer.from(COMPACT), right, `${SECRET} `)) {
      expect(text).not.toContain(SECRET)
      expect(text).not.toMatch(/[0-9a-f]{40}/)
    }
  })
})

it('explains a body of many line breaks immediately', () => {
  expect(codesOf(`${'\n'.repeat(200_000)}x`, right)).toEqual(['no_match'])
  expect(codesOf(`x${'\r\n'.repeat(100_000)}`, sign('x', SECRET))).toEqual(['final_newline'])
})

it('explains a body that is nested too deeply to be written again', () => {
  expect(codesOf(`${'['.repeat(20_000)}${']'.repeat(20_000)}`, right)).toEqual(['no_match'])
})
