/** Runs each test inside an AsyncLocalStorage, as tracers do with every request: on Node 20 that turns async_hooks on. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, aroundEach, expect } from 'vitest'

const storage = new AsyncLocalStorage<string>()

aroundEach((runTest, { task }) => storage.run(task.id, runTest))
afterEach(({ task }) => expect(storage.getStore()).toBe(task.id))
