import { checkReceiver } from 'postern/check'
import { describe, expect, it } from 'vitest'
import { SECRET } from './faulty/hand-written.ts'

describe('checkReceiver', () => {
  it.each([
    ['a URL that is none', 'localhost', {}, /is not a URL|speak HTTP/],
    ['another protocol', 'ftp://localhost/', {}, /speak HTTP/],
    ['a host that is not this machine', 'http://hooks.example.test/', {}, /not this machine/],
    ['a host that begins like this machine', 'http://127.0.0.1.example.test/', {}, /not this machine/],
    ['an unknown check', 'http://localhost/', { only: ['accepts-valdi'] }, /no check or group "accepts-valdi"/],
    ['an unknown check to leave out', 'http://localhost/', { skip: [''] }, /no check or group/],
    ['no time at all', 'http://localhost/', { timeoutMs: 0 }, /timeoutMs/],
    ['more time than a timer takes', 'http://localhost/', { timeoutMs: 2_147_483_648 }, /timeoutMs must be at most/],
    ['more patience than a timer takes', 'http://localhost/', { patienceMs: 1e12 }, /patienceMs/],
    ['no patience', 'http://localhost/', { patienceMs: -1 }, /patienceMs/],
    ['no concurrency', 'http://localhost/', { concurrency: Number.NaN }, /concurrency/],
  ])('refuses %s', async (_what, url, options, message) => {
    const promise = checkReceiver(url, { secret: SECRET, ...options })
    await expect(promise).rejects.toMatchObject({ code: 'option_invalid', message: expect.stringMatching(message) })
  })

  it('refuses an impossible secret', async () => {
    await expect(checkReceiver('http://localhost/', { secret: ' ' })).rejects.toMatchObject({ code: 'secret_unusable' })
  })

  it.each(['timeoutMs', 'patienceMs', 'concurrency'] as const)('refuses a %s that is not finite', async (name) => {
    const promise = checkReceiver('http://localhost/', { secret: SECRET, [name]: Number.POSITIVE_INFINITY })
    await expect(promise).rejects.toMatchObject({
      code: 'option_invalid',
      message: `${name} must be a number of at least 1; it is Infinity.`,
    })
  })

  it.each([
    ['a URL', 'localhost', {}, '"localhost" is not a URL; write it whole: http://localhost:3000/webhooks'],
    ['HTTP', 'ftp://localhost/', {}, 'The checks speak HTTP; the URL begins with "ftp:".'],
    [
      'a known group',
      'http://localhost/',
      { only: ['x'] },
      /^There is no check or group "x"\. Groups: reach, signature, .*alive/,
    ],
    ['permission', 'https://hooks.example.test/', {}, /^hooks\.example\.test is not this machine/],
  ])('says that it needs %s', async (_what, url, options, message) => {
    await expect(checkReceiver(url, { secret: SECRET, ...options })).rejects.toThrow(message)
  })

  it('checks another host if it is told to', async () => {
    const options = { secret: SECRET, allowRemote: true, only: ['https'] }
    expect((await checkReceiver('https://hooks.example.test/', options)).summary.pass).toBe(1)
  })
})
