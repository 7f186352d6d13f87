export type { BareRedisClient, IoRedisClient, NodeRedisClient, RedisClient } from './redis/client.ts'
export { type RedisStoreOptions, redisStore } from './redis/redis-store.ts'
