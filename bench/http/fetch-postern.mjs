import { fetchHandler } from '../../dist/web.js'
import { createPostern } from '../receivers/postern.mjs'
import { serveFetch } from './fetch-bridge.mjs'

export const createListener = (onEvent) => serveFetch(fetchHandler(createPostern(onEvent)))
