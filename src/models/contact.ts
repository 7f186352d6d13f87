import * as z from 'zod'

/** A contact as the service documents it (section 2.4): everything but `_id` may be absent or null, and more fields may come. */
export interface Contact {
  readonly _id: string
  readonly firstName?: string | null | undefined
  readonly lastName?: string | null | undefined
  readonly email?: string | null | undefined
  readonly status?: string | null | undefined
}

const optionalText = z.string().nullish()

/**
 * The schema of a contact: loose at run time, so that further fields reach the handler, and closed in types, so that a misspelt
 * field is a compile error.
 *
 * @example createReceiver({ secret, models: { contact } })
 */
export const contact: z.ZodType<Contact> = z.looseObject({
  _id: z.string(),
  firstName: optionalText,
  lastName: optionalText,
  email: optionalText,
  status: optionalText,
})
