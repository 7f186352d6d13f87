import { serve } from './app.js'

Deno.serve(
  { hostname: '127.0.0.1', port: 0, onListen: ({ port }) => console.log(JSON.stringify({ port })) },
  (request, info) => serve(request, info),
)
