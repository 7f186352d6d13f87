export {
  type BullmqInbox,
  type BullmqInboxOptions,
  type BullmqPostgresOptions,
  type BullmqRedisOptions,
  bullmqInbox,
} from './bullmq/bullmq-inbox.ts'
export { migrateBullmq } from './bullmq/open-inbox.ts'
