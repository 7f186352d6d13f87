/** States that few runs visit. Many seeds together must visit each of them, or the search looks for nothing there. */
export const RARE_STATES = {
  direct: [
    ...['answered busy', 'answered late', 'answered overloaded', 'answered closing', 'answered store_unavailable'],
    ...['answered secrets_unavailable', 'answered invalid_record'],
    ...['claimed with marks', 'claimed after a lease had ended', 'claimed without its process knowing'],
    'renewal refused',
    'completion refused',
    'completed twice',
    'release refused',
    'commit refused: lease_lost',
    'commit refused: event_outdated',
    'engine lost a holder',
    'engine lost a completion',
    'engine lost a mark',
    'handler ran again',
    'runs overlapped',
  ],
  inbox: [
    'put while running',
    'put while dead',
    'suspect taken',
    'suspect joined',
    'room made for a suspect',
    'died alone',
    'lease taken back',
    'lease taken back while another worker ran it',
    'settlement refused',
    'dead letter made',
    'dead letter replayed',
    'waiting item replayed',
    'dropped after its lease had ended',
    'run without a proof',
  ],
} as const

export type RareState = (typeof RARE_STATES)[keyof typeof RARE_STATES][number]

/** The number of visits of each state. */
export type Visits = Readonly<Partial<Record<string, number>>>
