/** A logger in the shape of pino's: fields first, then the message. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, unknown>>

const ignore = () => {}

/** The default logger writes warnings and errors to the console, one line each, with the stack of an error and its cause below. */
export const consoleLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: (fields, message) => console.warn(toLine(fields, message)),
  error: ({ err, ...fields }, message) => console.error(toLine(fields, message), ...describe(err, message)),
}

/** Returns the parts of an error that the line does not hold. The message is in the line already. */
function describe(error: unknown, message: string): readonly unknown[] {
  if (error === undefined) return []
  if (!(error instanceof Error && error.stack?.includes(message))) return [error]
  const { stack, cause } = error
  const frames = stack.slice(stack.indexOf(message) + message.length)
  return cause === undefined ? [frames] : [frames, '\n  caused by:', cause]
}

function toLine(fields: LogFields, message: string): string {
  return `postern: ${escapeControls(message)} ${escapeControls(JSON.stringify(fields))}`
}

/** A terminal would act on control characters and line separators, and a sender can put them into ids and types. */
function escapeControls(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
