import { loadWithFault } from './bundle.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import { type Subject, subject } from './subject.ts'

/** Returns the subject: unchanged, or with a planted fault. */
export async function loadSubject(fault: string | undefined): Promise<Subject> {
  const planted = PLANTED_FAULTS.find(({ name }) => name === fault)
  return planted === undefined ? subject : loadWithFault(planted)
}
