import { SIGNATURE_HEADER } from '../../src/protocol/signature.ts'

/** Name of the signature header in the service's spelling: `X-Service-Signature`. Service text, section 5. */
export const SIGNATURE_NAME: string = SIGNATURE_HEADER.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
