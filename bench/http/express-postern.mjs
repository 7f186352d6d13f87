import express from 'express'
import { expressHandler } from '../../dist/express.js'
import { createPostern } from '../receivers/postern.mjs'

export const createListener = (onEvent) => express().post('/webhooks', expressHandler(createPostern(onEvent)))
