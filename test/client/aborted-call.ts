import { createClient } from 'postern/client'
import { EMAIL, PASSWORD } from './support.ts'

// A process that gives up a call which is never answered, after its garbage was collected. Nothing may keep it alive then.

const { BASE_URL = '', HOW } = process.env
const client = createClient({
  baseUrl: BASE_URL,
  email: EMAIL,
  password: PASSWORD,
  maxRetries: 0,
  timeoutMs: HOW === 'time limit' ? 1_000 : 60_000,
})
const controller = new AbortController()
const ended = client.webhooks.list({ signal: controller.signal }).then(
  () => 'answered',
  () => 'given up',
)
setTimeout(() => {
  globalThis.gc?.()
  if (HOW === 'signal') setTimeout(() => controller.abort(), 200)
}, 500)
process.send?.(await ended)
process.disconnect()
