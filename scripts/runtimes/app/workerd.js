import { serve } from './app.js'

// biome-ignore lint/style/noDefaultExport: workerd looks for the handlers of a worker there
export default { fetch: (request, env, context) => serve(request, env, context) }
