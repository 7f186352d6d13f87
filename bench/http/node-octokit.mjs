import { createNodeMiddleware } from '@octokit/webhooks'
import { createOctokit } from '../receivers/octokit.mjs'

export const createListener = (onEvent) => createNodeMiddleware(createOctokit(onEvent), { path: '/webhooks' })
