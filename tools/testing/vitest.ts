import { matchers, type PosternMatchers } from './matchers.ts'

declare module 'vitest' {
  // Vitest's own declaration has the same parameter. Since 3.2, this interface adds the types of matchers.
  interface Matchers<T> extends PosternMatchers<T extends never ? never : void> {}
}

// Vitest loads ES modules only, so that nothing needs this one by `require()`.
const { expect } = await import('vitest').catch((cause: unknown) => {
  if (Object(cause).code !== 'ERR_MODULE_NOT_FOUND') throw cause
  const message = 'postern/testing/vitest needs Vitest 3.2 or later: npm install --save-dev vitest'
  throw Object.assign(new Error(message, { cause }), { code: 'ERR_MODULE_NOT_FOUND' })
})
expect.extend(matchers)
