/** The messages between the server of the limits and its parent. */
export type ToServer = 'begin' | 'tell'
export type FromServer = { readonly port: number } | { readonly base: number; readonly peak: number }

export const SECRET = 'whsec_limits'
