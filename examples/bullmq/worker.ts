/** A process that works off what others accept. Start as many as are needed, on any machine. */
import { close, receiver } from './receiver.ts'

receiver.work({ concurrency: 10 })
process.once('SIGTERM', () => void close().then(() => process.disconnect?.()))
