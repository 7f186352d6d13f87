import { NextResponse } from 'next/server'

/** Your own checks would be here: sessions, languages. Deliveries pass through unchanged. */
export function proxy() {
  return NextResponse.next()
}

/**
 * On the paths that this file matches, Next reads the whole body before the route runs. It keeps 10 MB and drops the rest without an error,
 * and it waits for slow senders without a limit. If you leave out the paths of your webhooks, as here /webhooks/direct, the receiver
 * applies both limits again.
 */
export const config = { matcher: '/((?!webhooks/direct).*)' }
