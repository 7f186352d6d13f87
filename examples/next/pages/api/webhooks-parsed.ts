import { nextApiHandler } from 'postern/next'
import { receiver } from '@/lib/receiver'

// The usual mistake, to be seen and not to be copied: without `config` Next parses the body, and the bytes that were signed are gone.
// Deliveries are answered 500, and the log names what is missing.
export default nextApiHandler(receiver)
