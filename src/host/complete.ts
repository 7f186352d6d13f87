/** Options after the defaults: each has a value, though an app may pass `undefined`. */
export type Complete<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> }
