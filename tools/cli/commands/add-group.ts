import type { Command } from 'commander'

/** Adds a command to a group. Examples are written without `postern` and the name of the group; the second one has `--json` by default. */
export type AddCommand = (name: string, description: string, example: string, ...more: readonly string[]) => Command

/** Help text below the options of a command: notes, such as its exit codes, and examples. */
export function toHelp(notes: string, ...examples: readonly string[]): string {
  const lines = examples.map((line) => `  $ ${line}`)
  return ['', notes, '', 'Examples:', ...lines].join('\n')
}

/** Adds a group of commands. The help of each has the notes. Returns a function that adds a command to it. */
export function addGroup(
  program: Command,
  name: string,
  { description, notes, examples }: { description: string; notes: string; examples: readonly string[] },
): AddCommand {
  const help = (lines: readonly string[]) => toHelp(notes, ...lines.map((line) => `postern ${name} ${line}`))
  const group = program.command(name).description(description).addHelpText('after', help(examples))
  return (command, text, line, ...lines) => {
    const all = [line, ...(lines.length > 0 ? lines : [`${line} --json`])]
    return group.command(command).description(text).addHelpText('after', help(all))
  }
}
