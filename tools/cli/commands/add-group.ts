import type { Command } from 'commander'

/** Adds a command to a group. Examples are written without `postern` and the name of the group; the second one has `--json` by default. */
export type AddCommand = (name: string, description: string, example: string, ...more: readonly string[]) => Command

/** Adds a command, with a text below the options in its help: notes, such as its exit codes, and examples. */
export function addCommand(
  parent: Command,
  name: string,
  description: string,
  notes: string,
  ...examples: readonly string[]
): Command {
  const help = ['', notes, '', 'Examples:', ...examples.map((line) => `  $ ${line}`)].join('\n')
  return parent.command(name).description(description).addHelpText('after', help)
}

/** Adds a group of commands. The help of each has the notes. Returns a function that adds a command to it. */
export function addGroup(
  program: Command,
  name: string,
  { description, notes, examples }: { description: string; notes: string; examples: readonly string[] },
): AddCommand {
  const toLines = (lines: readonly string[]) => lines.map((line) => `postern ${name} ${line}`)
  const group = addCommand(program, name, description, notes, ...toLines(examples))
  return (command, text, line, ...lines) => {
    const all = [line, ...(lines.length > 0 ? lines : [`${line} --json`])]
    return addCommand(group, command, text, notes, ...toLines(all))
  }
}
