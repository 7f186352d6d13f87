/**
 * What the judge overlooks because the receiver or its stores are known to do it. Each is deleted once it is mended: the judge then
 * holds them to what is promised.
 */
export const EXCUSES = {
  /**
   * A claim that the engine carried out, but whose answer was lost or cut, blocks its event for a lease, since the store makes its
   * token within the call, so that it cannot be given back (rule 6).
   */
  forgetsCutClaims: true,
}
