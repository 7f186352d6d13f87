import { NextResponse } from 'next/server'

/** Checks of your own would stand here: sessions, languages. Deliveries go through unchanged. */
export function proxy() {
  return NextResponse.next()
}

/**
 * Where this file matches, Next reads the whole body before the route runs. It keeps 10 MB and drops the rest without an error, and it
 * waits for slow senders as long as they like. Leaving the paths of your webhooks out, as here /webhooks/direct, gives both limits
 * back to the receiver.
 */
export const config = { matcher: '/((?!webhooks/direct).*)' }
