import { SIGNATURE_HEADER } from '../protocol/signature.ts'

/** The name of the signature header as the service writes it: `X-Service-Signature`. Service text, section 5. */
export const SIGNATURE_NAME: string = SIGNATURE_HEADER.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())
