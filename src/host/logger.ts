import { inspect } from 'node:util'
import { escapeUnits } from './escape.ts'

/** A logger in the shape of pino's: fields first, then the message. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

/** The fields of a log line; the cause of an error stands under `err`. */
export type LogFields = Readonly<Record<string, unknown>>

const ignore = () => {}

/**
 * The default logger writes warnings and errors to the console, one line each, with the cause of an error below, or else its stack. Control
 * characters are escaped and the lines below are indented, so that no text of a stranger poses as a line or acts on a terminal.
 */
export const consoleLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ({ err, ...fields }, message) => console.warn(toLine(fields, message) + toDetails(err, message)),
  error: ({ err, ...fields }, message) => console.error(toLine(fields, message) + toDetails(err, message)),
}

/** Returns the parts of an error that the line does not hold, on lines of their own. */
function toDetails(error: unknown, message: string): string {
  return error === undefined ? '' : partsOf(error, message).split('\n').map(escapeControls).join('\n  ')
}

function partsOf(error: unknown, message: string): string {
  const { message: text, stack, cause } = Object(error)
  if (typeof stack !== 'string' || !message.includes(text) || !stack.includes(text)) return `\n${inspect(error)}`
  if (cause !== undefined) return `\ncaused by: ${inspect(cause)}` // our own frames would only stand between
  return stack.slice(stack.indexOf(text) + text.length).replace(/^(?!\n)/, '\n')
}

function toLine(fields: LogFields, message: string): string {
  const json = JSON.stringify(fields)
  return escapeControls(json === '{}' ? `postern: ${message}` : `postern: ${message} ${json}`)
}

/** Escapes what a terminal acts on, such as formats that turn text around: a sender can put it into ids and types. */
function escapeControls(text: string): string {
  return escapeUnits(text, /[\p{Cc}\p{Cf}\u2028\u2029]/gu)
}
