/** What the server of the limits and its parent say to each other. */
export type ToServer = 'begin' | 'tell'
export type FromServer = { readonly port: number } | { readonly base: number; readonly peak: number }

export const SECRET = 'whsec_limits'
