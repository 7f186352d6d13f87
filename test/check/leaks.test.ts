import { createHmac } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { createScene } from '../../tools/check/scene.ts'
import type { Answer } from './faulty/hand-written.ts'
import { checkAt } from './judge.ts'
import { OPTIONS, runIn } from './play.ts'
import { toAnswer } from './to-answer.ts'

const SECRET = 'it\'s a "secret" for the checks'

/** Judges a receiver by its refusals, and returns the statuses by id with the requests that it got. */
async function judge(
  refuse: (digest: string, request: IncomingMessage, body: string) => Partial<Answer>,
  secret = SECRET,
) {
  const seen: { readonly request: IncomingMessage; readonly body: string; readonly digest: string }[] = []
  const answer: RequestListener = async (request, response) => {
    const body = await readText(request)
    const digest = createHmac('sha256', secret).update(body).digest('hex')
    seen.push({ request, body, digest })
    const { status = 401, words = 'No', text = '', headers = {} } = refuse(digest, request, body)
    response.writeHead(status, words, headers).end(text)
  }
  const { checks } = (await checkAt(answer, { secret, only: ['leak'] })).report
  const statuses = Object.fromEntries(checks.map(({ id, status }) => [id.replace('leak-', ''), status]))
  return { statuses, seen, reasons: checks.map(({ reason }) => reason) }
}

const TIGHT = { digest: 'pass', secret: 'pass', stack: 'pass' }

describe('a refusal', () => {
  it('leaks nothing if it holds nothing', async () => {
    const { statuses, reasons } = await judge(() => ({ text: 'no' }))
    expect(statuses).toEqual(TIGHT)
    expect(reasons).toEqual(Array(3).fill('no answer holds it'))
  })

  it('is drawn from the receiver once for all three checks, by nine requests that differ', async () => {
    const { seen } = await judge(() => ({}))
    const told = seen.map(({ request: { method, headers }, body, digest }) => {
      const signature = headers['x-service-signature']
      const right = `sha256=${digest}`
      const form = signature === right ? 'right' : signature === right.slice(0, -2) ? 'short' : signature
      const length = body.length > 1_000_000 ? 'huge' : body.startsWith('{"id": "evt_chk_') ? 'event' : body
      return [method, form, headers['content-encoding'], body === '{"id": "evt_chk_' ? 'broken' : length].join(' ')
    })
    expect(told.sort()).toEqual(
      [
        ...['POST   event', `POST sha256=${'0'.repeat(64)}  event`, 'POST sha256=xyz  event', 'POST short  event'],
        ...['POST right gzip event', 'POST right  event', 'POST right  broken', 'POST right  huge', 'GET   '],
      ].sort(),
    )
    const events = seen.filter(({ body }) => body.length > 100 && body.length < 1_000)
    expect(new Set(events.map(({ body }) => body)).size).toBe(1)
  })

  it('leaks the digest in base64 without its end', async () => {
    const leaking = await judge((digest) => ({ text: Buffer.from(digest, 'hex').toString('base64').replace('=', '') }))
    expect(leaking.statuses).toEqual({ ...TIGHT, digest: 'fail' })
  })

  it('leaks the digest even if only the answer to a signed body holds it', async () => {
    const leaking = await judge((digest, _request, body) => (body === '{"id": "evt_chk_' ? { text: digest } : {}))
    expect(leaking.statuses).toEqual({ ...TIGHT, digest: 'fail' })
    expect(leaking.reasons[0]).toBe('an answer holds the expected digest')
  })

  it('leaks no digest if it repeats the headers that were sent', async () => {
    const echo = (_digest: string, { rawHeaders }: IncomingMessage) => ({ text: JSON.stringify(rawHeaders) })
    expect((await judge(echo)).statuses).toEqual(TIGHT)
  })

  it('leaks the digest to a forgery even if it repeats the headers that were sent', async () => {
    const leaking = await judge((digest, { rawHeaders }) => ({ text: `sha256=${digest} ${rawHeaders}` }))
    expect(leaking.statuses).toEqual({ ...TIGHT, digest: 'fail' })
  })

  it('leaks no digest if it holds another one', async () => {
    expect((await judge((digest) => ({ text: digest.replace(/./, 'g') }))).statuses).toEqual(TIGHT)
  })

  it.each([
    ['JSON', { text: JSON.stringify({ secret: SECRET }) }],
    ['base64', { text: Buffer.from(SECRET).toString('base64') }],
    ['hexadecimal digits', { text: Buffer.from(SECRET).toString('hex') }],
  ])('leaks the secret in %s', async (_form, answer) => {
    expect((await judge(() => answer)).statuses).toEqual({ ...TIGHT, secret: 'fail' })
  })

  it('leaks the secret in base64 without any of its padding', async () => {
    const secret = 'sixteen bytes ok'
    const text = Buffer.from(secret).toString('base64').replace('==', '')
    expect((await judge(() => ({ text: `key ${text}.` }), secret)).statuses.secret).toBe('fail')
  })

  it('is searched for a secret of eight bytes, and not for a shorter one', async () => {
    const text = 'eight888'
    expect((await judge(() => ({ text }), text)).statuses.secret).toBe('fail')
    const { statuses, reasons } = await judge(() => ({ text }), text.slice(1))
    expect(statuses.secret).toBe('skipped')
    expect(reasons[1]).toContain('so short')
  })

  it('is not judged if none came', async () => {
    const { report } = await checkAt((request) => request.socket.destroy(), { secret: SECRET, only: ['leak'] })
    expect(report.checks.map(({ status, reason }) => `${status}: ${reason}`)).toEqual(
      Array(3).fill('skipped: no answer came'),
    )
  })

  it('is not judged if one was put off and no other leaks', async () => {
    const limited = (_digest: string, { method }: IncomingMessage): Partial<Answer> =>
      method === 'GET' ? {} : { status: 429, headers: { 'retry-after': '60' } }
    const { statuses, reasons } = await judge(limited)
    expect(statuses).toEqual({ digest: 'skipped', secret: 'skipped', stack: 'skipped' })
    expect(reasons).toEqual(Array(3).fill('8 of 9 deliveries were put off'))
    const leaking = await judge((digest, request) => ({
      text: request.method === 'GET' ? digest : SECRET,
      ...limited(digest, request),
    }))
    expect(leaking.statuses.secret).toBe('fail')
  })

  it('is judged if only one came', async () => {
    const answer: RequestListener = ({ method, socket }, response) =>
      method === 'GET' ? response.end() : socket.destroy()
    const { report } = await checkAt(answer, { secret: SECRET, only: ['leak'] })
    expect(report.summary.pass).toBe(3)
  })
})

describe('a stack trace in a refusal', () => {
  const statusOf = async (body: string) => {
    const scene = createScene({ target: new URL('http://localhost/'), ...OPTIONS })
    return (
      await runIn({ ...scene, send: async () => toAnswer({ status: 401, body: Promise.resolve(body) }) }, 'leak-stack')
    ).status
  }

  it.each([
    ['JavaScript', 'Error: no\n    at check (/srv/app/receiver.js:12:70)'],
    ['JavaScript on Windows', String.raw`at check (C:\app\receiver.js:12:7)`],
    ['JavaScript without a folder', 'at check (receiver.js:123:7)'],
    ['a module of JavaScript', 'at file:///srv/app/receiver.js:12:7'],
    ['a module of TypeScript', 'at async Hooks.receive (/srv/app/hooks.mts:12:7)'],
    ['Node itself', 'at process.processTicksAndRejections (node:internal/process/task_queues:95:5)'],
    ['JavaScript in HTML', '<pre>Error: no<br> &nbsp; &nbsp;at check (/srv/my app/receiver.cjs:12:7)</pre>'],
    ['Python', '<pre>Traceback (most recent call last):\n  File "/srv/app.py", line 3, in post</pre>'],
    ['Java', '\tat com.example.Hooks.receive(Hooks.java:12)'],
    ['Java as JSON, as Spring writes it', String.raw`{"trace":"X\n\tat com.example.Hooks.receive(Hooks.java:12)"}`],
    ['Java, of a constructor in a module', 'at java.base/com.example.Hooks.<init>(Hooks.java:12)'],
    ['Java, of a nested class', 'at com.example.Hooks$Inner.receive(Hooks.java:1)'],
    ['Kotlin', 'at com.example.HooksKt.receive(Hooks_2.kt:123)'],
    ['Scala', 'at com.example.Hooks.receive(Hooks.scala:12)'],
    ['C#', '   at Hooks.Receive(Request r) in /srv/Hooks.cs:line 12'],
    ['Go', 'goroutine 17 [running]:\nmain.receive()'],
    ['Go, of the first routine', 'goroutine 1 [running]:'],
    ['Ruby', "app/hooks.rb:12:in `receive'"],
    ['PHP', '#0 /srv/app/receiver.php(12): hash_equals()'],
    ['PHP, as a warning', 'Warning: Undefined array key 1 in /srv/app/receiver.php on line 7'],
    ['PHP, as a warning in HTML', '<b>Warning</b>: x in <b>/srv/app/receiver.php</b> on line <b>7</b>'],
    ['Laravel', '{"message": "x", "file": "/srv/app/Hooks.php", "line": 12}'],
    ['Laravel without spaces', '{"file":"/srv/app/Hooks.php","line":1}'],
  ])('of %s is found', async (_language, text) => {
    expect(await statusOf(text)).toBe('fail')
  })

  it('is found behind the first kilobytes', async () => {
    const text = `${' '.repeat(20_000)}Traceback (most recent call last)`
    expect((await judge(() => ({ text }))).statuses.stack).toBe('fail')
  })

  it('is found in a header and in the first line', async () => {
    const text = 'at check (/srv/app/receiver.js:12:70)'
    expect((await judge(() => ({ headers: { 'x-debug': text } }))).statuses.stack).toBe('fail')
    expect((await judge(() => ({ words: text }))).statuses.stack).toBe('fail')
  })

  it.each(['we met at the house in the city of ', 'at ', 'at ) in ', '#0 ', 'in .php', 'at node:a', '"file": "a.'])(
    'is looked for in a long line of one kind in no time: %s',
    async (words) => {
      expect(await statusOf(words.repeat(65_536 / words.length))).toBe('pass') // otherwise it takes minutes
    },
  )

  it.each([
    '{"error":"no signature at 12:30:45"}',
    'refused at 2026/11/23 10:15:42',
    '<p>Blocked at the edge.</p><p>Time: 10:15:42</p>',
    '203.0.113.9 at [23/Nov/2026:10:15:42 +0000]',
    'Look at https://docs.example.test/webhooks for help.',
    'We look at (all) requests: 12:30',
    'format (/a:12:7)',
    'chat com.example.receive(Hooks.java:12)',
    '{"code":"unauthorized","line":"sales"}',
    '{"file":"Hooks.php","line":"sales"}',
    '{"file":"","line":1}',
    'index.php was not found',
    'main.php on line 3',
    '#0 of receiver.php',
    'goroutine pools are full',
  ])('is not what this is: %s', async (text) => {
    expect(await statusOf(text)).toBe('pass')
  })
})
