/** A logger in the shape of pino's: fields first, then the message. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, unknown>>

const ignore = () => {}

/** The default: warnings and errors go to the console, one line each, and an error's own stack below it. */
export const consoleLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: (fields, message) => console.warn(toLine(fields, message)),
  error: ({ err, ...fields }, message) =>
    err === undefined ? console.error(toLine(fields, message)) : console.error(toLine(fields, message), err),
}

function toLine(fields: LogFields, message: string): string {
  return `postern: ${message} ${escapeControls(JSON.stringify(fields))}`
}

/** JSON leaves DEL, the C1 controls and the line separators as they are; a terminal would act on some of them. */
function escapeControls(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
