import { nodeHandler } from '../../dist/node.js'
import { createPostern } from '../receivers/postern.mjs'

export const createListener = (onEvent) => nodeHandler(createPostern(onEvent))
