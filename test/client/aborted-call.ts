import { type CallOptions, createClient } from 'postern/client'

// A process that gives up calls which are never answered, after a garbage collection. Nothing may keep it alive then.

const { BASE_URL } = process.env
const login = { email: 'ada@acme.test', password: 'password' }

async function call(timeoutMs: number, options?: CallOptions): Promise<string> {
  const client = createClient({ baseUrl: BASE_URL, ...login, maxRetries: 0, timeoutMs })
  return client.webhooks.list(options).then(
    () => 'answered',
    () => 'given up',
  )
}

const controller = new AbortController()
const bySignal = call(60_000, controller)
const byTimeLimit = call(1_000)
setTimeout(() => {
  globalThis.gc?.()
  setTimeout(() => controller.abort(), 200)
}, 500)
process.send?.({ bySignal: await bySignal, byTimeLimit: await byTimeLimit })
process.disconnect()
