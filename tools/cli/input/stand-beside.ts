import type { Command } from 'commander'
import { usageError } from '../io.ts'

const SEVERAL = ['count', 'duplicate']
const OF_RECEIVER = ['secretEnv', 'secretFile', 'secretStdin', 'yes']

/** The options of a command that are ignored without one of others. */
const BESIDE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  trigger: {
    concurrent: SEVERAL,
    rate: SEVERAL,
    shuffle: SEVERAL,
    timeout: ['watch'],
    ...Object.fromEntries(OF_RECEIVER.map((name) => [name, ['to']])),
  },
  dev: { anyType: ['events'], showSecrets: ['json'] },
  'webhooks update': { anyType: ['events'] },
  'webhooks ensure': { secretEnv: ['toEnv'] },
  'webhooks rotate': { secretEnv: ['toEnv'] },
  'inbox replay': { type: ['all'], rate: ['all'] },
  'inbox drop': { account: ['all'], type: ['all'], dryRun: ['all'] },
}

/** Options for one thing, of which the first would be ignored. The name of a variable also goes with an env file. */
const APART = [
  ['secretEnv', 'secretFile', 'env'],
  ['secretEnv', 'secretStdin', 'env'],
  ['passwordEnv', 'passwordFile'],
  ['passwordEnv', 'passwordStdin'],
  ['passwordFile', 'passwordStdin'],
] as const

/** Ends a command with an option that would be ignored, since the one that it belongs to is missing, or another one stands for it. */
export function mustStandBeside(command: Command): void {
  const flagOf = (name: string) => command.options.find((option) => option.attributeName() === name)?.long
  const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli'
  const path = `${command.parent?.name()} ${command.name()}`.replace('postern ', '')
  for (const [name, others] of Object.entries(BESIDE[path] ?? {})) {
    if (!isGiven(name) || others.some(isGiven)) continue
    throw usageError(
      `${flagOf(name)} is for ${others.map(flagOf).join(' or ')}: add that, or leave ${flagOf(name)} out.`,
    )
  }
  for (const [one, other, both] of APART)
    if (isGiven(one) && isGiven(other) && !(both !== undefined && isGiven(both)))
      throw usageError(`Give ${flagOf(one)} or ${flagOf(other)}, not both.`)
}
