/** The highest cost that one contestant may have, as a ratio to another of the same contest. */
export interface Goal {
  readonly contest: string
  readonly name: string
  readonly to: string
  readonly atMost: number
}

/** The goals of one delivery, in process and over HTTP. */
export const GOALS: readonly Goal[] = [
  { contest: 'in process, 611 bytes', name: 'postern', to: 'floor', atMost: 1.4 },
  { contest: 'in process, 611 bytes', name: 'postern-null-store', to: 'floor', atMost: 1.1 },
  { contest: 'in process, 611 bytes', name: 'postern-schema', to: 'floor', atMost: 1.4 },
  { contest: 'in process, 16384 bytes', name: 'postern', to: 'floor', atMost: 1.1 },
  { contest: 'in process, 262144 bytes', name: 'postern', to: 'floor', atMost: 1.05 },
  { contest: 'HTTP, node:http', name: 'node-postern', to: 'node-octokit', atMost: 1 },
  { contest: 'HTTP, Express 5', name: 'express-postern', to: 'express-by-hand', atMost: 0.95 },
  { contest: 'HTTP, Fastify 5', name: 'fastify-postern', to: 'fastify-by-hand', atMost: 1.2 },
  { contest: "HTTP, Hono's Node server", name: 'hono-postern', to: 'hono-by-hand', atMost: 1.1 },
  { contest: 'refusals, 611 bytes', name: 'forged signature', to: 'HMAC and compare', atMost: 1.05 },
]
