/** `true` if two types are the same to the compiler: `any`, optional and readonly fields all count. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** Compiles only if the type is `true`: `expectType<Equal<typeof event, ContactCreated>>()`. */
export function expectType<_Holds extends true>(): void {}
