import { checkReceiver } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { SECRET } from './faulty/hand-written.ts'

describe('checkReceiver', () => {
  it.each([
    ['a URL that is none', 'localhost', {}, /"localhost" is not a URL of HTTP; write it whole: http:/],
    ['another protocol', 'ftp://localhost/', {}, /is not a URL of HTTP; write it whole/],
    ['a host that is not this machine', 'https://hooks.example.test/', {}, /hooks\.example\.test is not this machine/],
    ['a host that begins like this machine', 'http://127.0.0.1.example.test/', {}, /not this machine/],
    [
      'an unknown check',
      'http://localhost/',
      { only: ['x'] },
      /there is no check or group "x"\. Groups: reach, .*alive/,
    ],
    ['an unknown check to leave out', 'http://localhost/', { skip: [''] }, /no check or group/],
    [
      'no time at all',
      'http://localhost/',
      { timeoutMs: 0 },
      /timeoutMs is 0; give a number from 100 to 2147483647, since/,
    ],
    ['more time than a timer takes', 'http://localhost/', { timeoutMs: 2_147_483_648 }, /timeoutMs/],
    ['more patience than a timer takes', 'http://localhost/', { patienceMs: 1e12 }, /patienceMs/],
    ['no patience', 'http://localhost/', { patienceMs: -1 }, /patienceMs/],
    ['no concurrency', 'http://localhost/', { concurrency: 0 }, /concurrency/],
    ['a type that is none', 'http://localhost/', { type: '' }, /type is ""/],
    ['an endless concurrency', 'http://localhost/', { concurrency: Infinity }, /concurrency/],
  ])('refuses %s', async (_what, url, options, message) => {
    const promise = checkReceiver(url, { secret: SECRET, ...options })
    await expect(promise).rejects.toMatchObject({ code: 'option_invalid', message: expect.stringMatching(message) })
  })

  it('refuses an impossible secret', async () => {
    await expect(checkReceiver('http://localhost/', { secret: ' ' })).rejects.toMatchObject({ code: 'secret_unusable' })
  })

  it('checks another host if it is told to', async () => {
    const options = { secret: SECRET, allowRemote: true, only: ['https'] }
    expect((await checkReceiver('https://hooks.example.test/', options)).summary.pass).toBe(1)
  })
})
