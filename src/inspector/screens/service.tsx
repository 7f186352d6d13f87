import type { JSX } from 'preact'
import { go, readAddress, SECTIONS, type Section } from '../model/address.ts'
import { useStore } from '../model/store.ts'
import { Assumptions } from './assumptions.tsx'
import { Calls } from './calls.tsx'
import { Clock, Faults } from './clock-and-faults.tsx'
import { Records } from './records.tsx'

const PARTS: Readonly<Record<Section, () => JSX.Element | null>> = {
  records: Records,
  calls: Calls,
  clock: Clock,
  faults: Faults,
  assumptions: Assumptions,
}

/** The emulated service. Each section is loaded when it is opened. */
export function ServiceScreen(): JSX.Element {
  const { section } = useStore(readAddress)
  return (
    <div class="page">
      <h1>Service</h1>
      {Object.entries(SECTIONS).map(([name, title]) => (
        <SectionCard key={name} name={name as Section} title={title} isOpen={name === section} />
      ))}
    </div>
  )
}

interface SectionOptions {
  readonly name: Section
  readonly title: string
  readonly isOpen: boolean
}

function SectionCard({ name, title, isOpen }: SectionOptions): JSX.Element {
  const Part = PARTS[name]
  return (
    <section class="card" aria-label={title}>
      <h2>
        <button
          type="button"
          class="opener"
          aria-expanded={isOpen}
          onClick={() => go({ section: isOpen ? undefined : name })}
        >
          {title}
        </button>
      </h2>
      {isOpen && <Part />}
    </section>
  )
}
