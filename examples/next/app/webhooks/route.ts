import { nextHandler } from 'postern/next'
import { receiver } from '@/lib/receiver'

export const POST = nextHandler(receiver)
