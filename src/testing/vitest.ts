import { expect } from 'vitest'
import { matchers, type PosternMatchers } from './matchers.ts'

declare module 'vitest' {
  // Vitest's own declaration has the same parameter. Since 3.2, this interface adds the types of matchers.
  interface Matchers<T> extends PosternMatchers<T extends never ? never : void> {}
}

expect.extend(matchers)
