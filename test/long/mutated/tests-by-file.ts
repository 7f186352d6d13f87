/** Tests that were written for a file, below its area in test/, or in another one if they name it: `cli/run`. */
export type TestsByFile = Readonly<Record<string, readonly string[]>>
