import { sign } from '../receivers/by-hand.mjs'
import { createOctokit, withAction } from '../receivers/octokit.mjs'

export const create = (onEvent) => toContestant(createOctokit(onEvent))

/** It takes text, and the id beside it. */
export const toContestant = (webhooks) => ({
  sign: (plain, id) => {
    const body = withAction(plain)
    return { id, body, signature: sign(body) }
  },
  deliver: ({ id, body, signature }) =>
    webhooks.verifyAndReceive({ id, name: 'issues', payload: body.toString(), signature }),
})
