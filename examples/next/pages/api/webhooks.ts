import { nextApiHandler } from 'postern/next'
import { receiver } from '@/lib/receiver'

export default nextApiHandler(receiver)

// The signature covers the bytes as they were sent: Next's own parser has to leave them alone.
export const config = { api: { bodyParser: false } }
