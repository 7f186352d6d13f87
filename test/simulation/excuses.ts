/**
 * What the judge overlooks because today's receiver is known to do it. Each is to be deleted, or set to false, once the receiver is
 * mended: the judge then holds it to what is promised.
 */
export const EXCUSES = {
  /**
   * After a renewal that failed, the next one comes a third of the lease later, so that an outage of little more than a third of the
   * lease costs the lease. Promised (rule 6): again within a second, so that an outage of two thirds of it never does.
   */
  renewsLateAfterFailure: true,
  /** `close()` can resolve before the answers of the deliveries that it waited for are out (rule 12). */
  closesBeforeAnswers: true,
  /**
   * `close()` does not wait for a release, or a renewal with marks, that the store has not taken yet and that is being repeated, so
   * that the finish marks are lost with the process although no outage was long (guarantee 4).
   */
  closesBeforeReleases: true,
  /**
   * A claim that the engine carried out, but whose answer was lost or cut, blocks its event for a lease, since its token is not
   * known to the process (rule 6).
   */
  forgetsCutClaims: true,
  /** The handlers of one event share one object, so that a change by one is seen by the others (rule 8). */
  sharesEventObject: true,
  /** An interceptor that forgets to await its handler, skips it or calls it twice is believed (rule 8). */
  trustsInterceptors: true,
}
