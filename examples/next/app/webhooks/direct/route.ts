import { nextHandler } from 'postern/next'
import { receiver } from '@/lib/receiver'

// The same handler again, on a path that the matcher in proxy.ts leaves out.
export const POST = nextHandler(receiver)
