/** The headers of the signatures of well-known senders, and the sender that each is for. */
const OTHER_SENDERS: Readonly<Record<string, string>> = {
  'x-hub-signature-256': 'github()',
  'stripe-signature': 'stripe()',
  'x-shopify-hmac-sha256': 'shopify()',
  'webhook-signature': 'standardWebhooks()',
  'svix-signature': "standardWebhooks({ headers: 'svix' })",
}

/** Returns a sentence about the first of these headers that another sender signs with; undefined if there is none. */
export function findOtherSender(isMeant: (header: string) => boolean): string | undefined {
  const [header, sender] = Object.entries(OTHER_SENDERS).find(([name]) => isMeant(name)) ?? []
  return header && `${header} is the header of another sender: receiveFrom(${sender}, { secret }).`
}
