import { createNodeMiddleware } from '@octokit/webhooks'
import { createOctokitWithDedupe } from '../receivers/octokit.mjs'

export const createListener = (onEvent) => createNodeMiddleware(createOctokitWithDedupe(onEvent), { path: '/webhooks' })
