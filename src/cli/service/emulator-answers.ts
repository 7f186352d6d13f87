import * as z from 'zod'

// Answers of the control interface. Fields that are not checked here are kept for `--json`.

const writtenTime = z
  .string()
  .transform((text) => Date.parse(text))
  .refine((ms) => !Number.isNaN(ms))
const nextAttemptAt = writtenTime.nullish().transform((ms) => ms ?? undefined)

const delivery = z.looseObject({
  id: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  status: z.string(),
  nextAttemptAt,
})

const attempt = z.looseObject({
  number: z.number(),
  at: writtenTime,
  durationMs: z.number(),
  status: z.number().optional(),
  failure: z.string().optional(),
  responseBody: z.string(),
  url: z.url(),
})

/** `GET deliveries/ID`: a delivery with its attempts. */
export const watchedDelivery = delivery.extend({ attempts: z.array(attempt) })

/** The message of `GET stream` about an attempt that has ended. */
export const attemptMessage = z.looseObject({ type: z.literal('attempt'), delivery, attempt })

/** Faults in force. */
export const faults = z.looseObject({
  answers: z.array(z.looseObject({ answer: z.string(), count: z.number(), delayMs: z.number() })),
  deliveries: z.looseObject({
    fail: z.number(),
    duplicate: z.number(),
    shuffle: z.boolean(),
    latencyMs: z.tuple([z.number(), z.number()]).optional(),
  }),
})

/** `GET state`. */
export const state = z.looseObject({
  settings: z.looseObject({ retryScale: z.number() }),
  clock: z.looseObject({ isManual: z.boolean() }),
  counts: z.looseObject({ pending: z.number() }),
  faults,
  webhooks: z.array(
    z.looseObject({
      id: z.string(),
      url: z.string(),
      accountKey: z.string(),
      events: z.array(z.string()),
      active: z.boolean(),
    }),
  ),
})

/** `POST events`. */
export const emitted = z.looseObject({ events: z.array(z.looseObject({ deliveries: z.array(z.string()) })) })

/** The clock, as it is or after it was moved. */
export const clock = z.looseObject({
  isManual: z.boolean(),
  now: z.string(),
  nextDueAt: z.string().nullable(),
  inFlight: z.number(),
  /** Only after `next`. */
  moved: z.boolean().optional(),
})

/** A record of any model. */
export const record = z.record(z.string(), z.unknown())
