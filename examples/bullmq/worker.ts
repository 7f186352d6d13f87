/** A process that handles events that others accept. Start as many as you need, on any machine. */
import { close, receiver } from './receiver.ts'

receiver.work({ concurrency: 10 })
process.once('SIGTERM', () => void close().then(() => process.disconnect?.()))
