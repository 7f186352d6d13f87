import { Webhook } from 'svix'
import { createStandard } from './standard-scheme.mjs'

export const create = (onEvent) => createStandard(Webhook, onEvent)
