import { Argument, type Command, type Option } from 'commander'
import { GROUPS } from '../../check/case.ts'
import { CASES } from '../../check/cases.ts'
import { KNOWN_TYPES } from '../input/event-types.ts'
import type { Io } from '../io.ts'
import { toHelp } from './add-group.ts'

/** `postern completion`: a script that completes command lines. */
export function addCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .description('Print a script that lets your shell complete commands, options and event types.')
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', toHelp(NOTES, ...EXAMPLES))
    .action((shell: keyof typeof SCRIPTS) => {
      io.stdout.write(SCRIPTS[shell](listPlaces(program)))
    })
}

/** A command, and the words that may follow it. */
interface CommandPlace {
  /** Its words, such as `webhooks list`. */
  readonly path: string
  readonly commands: readonly Command[]
  readonly options: readonly Option[]
  /** Known values of its argument. */
  readonly values: readonly string[]
}

function listPlaces(command: Command, path = ''): readonly CommandPlace[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((each) => each.name() !== 'help')
  const values = path === 'trigger' ? KNOWN_TYPES : command.registeredArguments.flatMap((each) => each.argChoices ?? [])
  const below = commands.flatMap((each) => listPlaces(each, `${path} ${each.name()}`.trim()))
  return [{ path, commands, options: help.visibleOptions(command), values }, ...below]
}

function listWords({ commands, options, values }: CommandPlace): string {
  return [...commands.map((each) => each.name()), ...values, ...options.flatMap(({ long }) => long ?? [])].join(' ')
}

/** Returns the known values of an option; the help does not list the ids of all checks. */
function choicesOf(path: string, { long, argChoices = [] }: Option): readonly string[] {
  const ids = CASES.map(({ id }) => id)
  if (path === 'check' && long === '--explain') return ids
  return path === 'check' && (long === '--only' || long === '--skip') ? [...GROUPS, ...ids] : argChoices
}

/** Writes the patterns that lead from a command to its subcommands. */
function listSteps(places: readonly CommandPlace[]): string {
  return places.flatMap(({ path, commands }) => commands.map((each) => `'${path} ${each.name()}'`)).join(' | ')
}

/** Writes the lines that set `choices` in bash and zsh: of the option before the cursor, or else of the command. */
function toCases(places: readonly CommandPlace[], words: string, last: string): string {
  const values = places.flatMap(({ path, options }) =>
    options
      .filter(({ required, optional }) => required || optional)
      .map((option) => `    '${path} ${option.long}') choices='${choicesOf(path, option).join(' ')}' ;;\n`),
  )
  return `  local at='' choices='' word
  for word in ${words}; do
    case "$at $word" in ${listSteps(places)}) at="\${at:+$at }$word" ;; esac
  done
  case "$at ${last}" in
${values.join('')}    *)
      case "$at" in
${places.map((place) => `        '${place.path}') choices='${listWords(place)}' ;;\n`).join('')}      esac ;;
  esac`
}

function toBash(places: readonly CommandPlace[]): string {
  return `_postern() {
${toCases(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`, `\${COMP_WORDS[COMP_CWORD-1]}`)}
  COMPREPLY=($(compgen -W "$choices" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _postern postern
`
}

function toZsh(places: readonly CommandPlace[]): string {
  return `#compdef postern
_postern() {
${toCases(places, `\${words[2,CURRENT-1]}`, `\${words[CURRENT-1]}`)}
  compadd -- \${=choices} || _files
}
if (( $+functions[compdef] )); then
  compdef _postern postern
else # completion is turned on further below in ~/.zshrc, or not at all: that is known at the first prompt
  _postern_begin() {
    add-zsh-hook -d precmd _postern_begin
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
    compdef _postern postern
  }
  autoload -Uz add-zsh-hook && add-zsh-hook precmd _postern_begin
fi
`
}

function toFish(places: readonly CommandPlace[]): string {
  const quote = (text: string) => `'${text.replaceAll('\n', ' ').replace(/['\\]/g, '\\$&')}'`
  const lines = places.flatMap(({ path, commands, options, values }) => {
    const begin = `complete -c postern -n "__postern_at '${path}'"`
    return [
      ...commands.map((each) => `${begin} -f -a ${each.name()} -d ${quote(each.description())}`),
      ...(values.length > 0 ? [`${begin} -f -a ${quote(values.join(' '))}`] : []),
      ...options.flatMap((option) => {
        const { long, required, optional, description } = option
        const choices = choicesOf(path, option).join(' ')
        const value = choices ? ` -x -a ${quote(choices)}` : required || optional ? ' -r -F' : ''
        return long === undefined ? [] : [`${begin} -l ${long.slice(2)}${value} -d ${quote(description)}`]
      }),
    ]
  })
  return `function __postern_at
  set -l at
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${listSteps(places).replaceAll(' | ', ' ')}
        set at (string trim "$at $word")
    end
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`
}

const SCRIPTS = { bash: toBash, zsh: toZsh, fish: toFish }

const NOTES =
  'In ~/.bashrc or ~/.zshrc: source <(postern completion bash), or zsh. In fish: postern completion fish | source'
const EXAMPLES = ['postern completion bash > postern.bash', 'postern completion fish > postern.fish']
