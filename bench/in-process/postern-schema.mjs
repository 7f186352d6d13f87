import { contact } from '../../dist/models.js'
import { create as createPostern } from './postern.mjs'

export const create = (onEvent) => createPostern(onEvent, { models: { contact } })
