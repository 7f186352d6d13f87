import { expect } from 'vitest'
import { matchers, type PosternMatchers } from './matchers.ts'

declare module 'vitest' {
  interface Assertion<T> extends PosternMatchers<T extends never ? never : void> {}
}

expect.extend(matchers)
