import { nextApiHandler } from 'postern/next'
import { receiver } from '@/lib/receiver'

export default nextApiHandler(receiver)

// The signature covers the exact bytes that were sent: Next's own parser must not read them.
export const config = { api: { bodyParser: false } }
