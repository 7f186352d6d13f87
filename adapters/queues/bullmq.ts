export { type BullmqInbox, type BullmqInboxOptions, bullmqInbox } from './bullmq/bullmq-inbox.ts'
