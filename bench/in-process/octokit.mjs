import { sign } from '../receivers/by-hand.mjs'
import { createOctokit, withAction } from '../receivers/octokit.mjs'

export const create = (onEvent) => toContestant(createOctokit(onEvent))

/** The contestant takes text, and the id separately. */
export const toContestant = (webhooks) => ({
  sign: (plain, id) => {
    const body = withAction(plain)
    return { id, body, signature: sign(body) }
  },
  deliver: ({ id, body, signature }) =>
    webhooks.verifyAndReceive({ id, name: 'issues', payload: body.toString(), signature }),
})
