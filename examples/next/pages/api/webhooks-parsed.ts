import { nextApiHandler } from 'postern/next'
import { receiver } from '@/lib/receiver'

// The usual mistake, as a demonstration; do not copy it. Without `config` Next parses the body, and the signed bytes are lost. Deliveries
// are answered 500, and the log names the missing setting.
export default nextApiHandler(receiver)
