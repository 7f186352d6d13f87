import { createOctokitWithDedupe } from '../receivers/octokit.mjs'
import { toContestant } from './octokit.mjs'

export const create = (onEvent) => ({ ...toContestant(createOctokitWithDedupe(onEvent)), dedupes: true })
