/** The default name of the header that carries the signature: section 5 of the service text names it by a placeholder. */
export const SIGNATURE_NAME = 'X-Service-Signature'
