/** Limits of the emulator. It refuses calls above them: it is not a load generator. */
export const LIMITS = {
  bodyBytes: 1_024 * 1_024,
  webhooksPerAccount: 200,
  records: 50_000,
  deliveriesKept: 10_000,
  deliveriesPending: 50_000,
  deliveryBytes: 256 * 1_024 * 1_024,
  inFlight: 64,
  inFlightPerWebhook: 8,
} as const
