import Stripe from 'stripe'
import { SECRET } from '../receivers/by-hand.mjs'

export function create(onEvent) {
  const { webhooks } = new Stripe('sk_test_of_the_bench')
  return {
    sign: (body) => ({
      body,
      signature: webhooks.generateTestHeaderString({ payload: body.toString(), secret: SECRET }),
    }),
    deliver: ({ body, signature }) => onEvent(webhooks.constructEvent(body, signature, SECRET).data.record),
  }
}
