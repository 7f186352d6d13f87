import { serve } from './app.js'

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: serve })
console.log(JSON.stringify({ port: server.port }))
