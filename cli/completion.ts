// Completion scripts for bash, zsh and fish, made from the command tree; only names of things are asked for when they are needed.
import type { CommandNode, FlagNode } from './command-tree.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export function completionScript(shell: Shell, root: CommandNode): string {
  switch (shell) {
    case 'bash':
      return bash(root)
    case 'zsh':
      return zsh(root)
    case 'fish':
      return fish(root)
  }
}

/** A command with the words that lead to it. */
interface Leaf {
  path: string[]
  node: CommandNode
}

function leaves(node: CommandNode, path: string[] = []): Leaf[] {
  if (node.commands.length === 0) return [{ path, node }]
  return node.commands.flatMap((child) => leaves(child, [...path, child.name]))
}

function groups(node: CommandNode, path: string[] = []): Leaf[] {
  if (node.commands.length === 0) return []
  return [{ path, node }, ...node.commands.flatMap((child) => groups(child, [...path, child.name]))]
}

/** Our words are kebab-case, but what a schema lists may be anything: only harmless words go into a script. */
function safe(words: readonly string[]): string[] {
  return words.filter((word) => /^(--)?[A-Za-z0-9][A-Za-z0-9._:+-]*$/.test(word))
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function bash(root: CommandNode): string {
  const words = groups(root).map(({ path, node }) => [path, node.commands.map((child) => child.name)] as const)
  const flags = leaves(root).map(({ path, node }) => [path, node.flags.map(({ flag }) => flag)] as const)
  const row = ([path, names]: readonly [string[], string[]]): string =>
    `    ${quote(path.join(' '))}) words=${quote(safe(names).join(' '))} ;;`
  const values = leaves(root).flatMap(({ path, node }) =>
    node.flags.filter((flag) => flag.takes_value).map((flag) => ({ path, flag })),
  )
  const value_row = ({ path, flag }: { path: string[]; flag: FlagNode }): string =>
    `    ${quote([...path, flag.flag].join(' '))}) ${flag.file ? 'files=1' : valueWords(flag)} ;;`
  const valueWords = ({ names, words }: FlagNode): string =>
    names === undefined ? `words=${quote(safe(words).join(' '))}` : `names=${quote(names)}`
  const named = leaves(root).flatMap(({ path, node }) =>
    node.names === undefined ? [] : [`    ${quote(path.join(' '))}) names=${quote(node.names)} ;;`],
  )
  return `# Completion of groundplane for bash: source this file, or store it in the completions folder.
_groundplane() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" files="" names="" i
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    case "\${COMP_WORDS[i]}" in -*) break ;; esac
    path="\${path:+$path }\${COMP_WORDS[i]}"
  done
  COMPREPLY=()
  case "$path $prev" in
${values.map(value_row).join('\n')}
    *) words=- ;;
  esac
  if [ -n "$files" ]; then
    COMPREPLY=($(compgen -f -- "$cur"))
    return
  fi
  # The first argument, unless it is an option that is being typed.
  if [ "$words" = - ] && [ "$COMP_CWORD" -eq 3 ] && [ "\${cur#-}" = "$cur" ]; then
    case "$path" in
${named.join('\n')}
    esac
  fi
  if [ -n "$names" ]; then
    COMPREPLY=($(compgen -W "$("\${COMP_WORDS[0]}" complete-names "$names" 2>/dev/null)" -- "$cur"))
    return
  fi
  if [ "$words" = - ]; then
    case "$path" in
${[...words, ...flags].map(row).join('\n')}
    # The second word of a command without subcommands is its argument.
    *) case "\${path%% *}" in
${flags
  .filter(([path]) => path.length === 1)
  .map(row)
  .join('\n')}
      *) words="" ;;
      esac ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _groundplane groundplane
`
}

function zsh(root: CommandNode): string {
  const name = (path: readonly string[]): string => ['_groundplane', ...path].join('_').replaceAll('-', '_')
  const describe = (text: string): string =>
    text
      .replace(/[[\]:'\\`$"]/g, ' ')
      .replace(/\s+/g, ' ')
      .slice(0, 70)
  const branch = ({ path, node }: Leaf): string => `${name(path)}() {
  local -a commands
  commands=(
${node.commands.map((child) => `    '${child.name}:${describe(child.summary)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${node.commands.map((child) => `    ${child.name}) ${name([...path, child.name])} ;;`).join('\n')}
  esac
}`
  const offered = (what: string): string => `{_groundplane_names "${what}"}`
  const leaf = ({ path, node }: Leaf): string => {
    const specs = node.flags.map((flag) => {
      const value = flag.names === undefined ? `(${safe(flag.words).join(' ')})` : offered(flag.names)
      const action = flag.file ? ':file:_files' : flag.takes_value ? `:value:${value}` : ''
      return `    '*${flag.flag}[${describe(flag.summary)}]${action}'`
    })
    const first = node.names === undefined ? [] : [`    '1:name:${offered(node.names)}'`]
    return `${name(path)}() {\n  _arguments \\\n${[...specs, ...first, "    '*: :'"].join(' \\\n')}\n}`
  }
  return `#compdef groundplane
# Completion of groundplane for zsh: store this file as _groundplane in a folder of $fpath.
_groundplane_names() {
  local -a names
  names=(\${(f)"$(groundplane complete-names "$1" 2>/dev/null)"})
  compadd -a names
}

${[...groups(root).map(branch), ...leaves(root).map(leaf)].join('\n\n')}

if [ "$funcstack[1]" = "_groundplane" ]; then
  _groundplane "$@"
else
  compdef _groundplane groundplane
fi
`
}

function fish(root: CommandNode): string {
  const describe = (text: string): string => quote(text.replace(/[\\\n]/g, ' ').slice(0, 70))
  const seen = (path: readonly string[]): string =>
    quote(`__groundplane_at ${path.length === 0 ? '' : path.join(' ')}`.trim())
  const command_rows = groups(root).flatMap(({ path, node }) =>
    node.commands.map(
      (child) => `complete -c groundplane -f -n ${seen(path)} -a ${quote(child.name)} -d ${describe(child.summary)}`,
    ),
  )
  const offered = (what: string): string => `(groundplane complete-names "${what}" 2>/dev/null)`
  const name_rows = leaves(root).flatMap(({ path, node }) =>
    node.names === undefined ? [] : [`complete -c groundplane -f -n ${seen(path)} -a ${quote(offered(node.names))}`],
  )
  const flag_rows = leaves(root).flatMap(({ path, node }) =>
    node.flags.map((flag) => {
      const value = flag.names === undefined ? safe(flag.words).join(' ') : offered(flag.names)
      const action = flag.file ? ' -r -F' : flag.takes_value ? ` -x -a ${quote(value)}` : ''
      const under = quote(`__groundplane_under ${path.join(' ')}`)
      return `complete -c groundplane -n ${under} -l ${flag.flag.slice(2)}${action} -d ${describe(flag.summary)}`
    }),
  )
  return `# Completion of groundplane for fish: store this file as completions/groundplane.fish.
function __groundplane_at
    set -l words (commandline -opc)
    test (count $words) -eq (math (count $argv) + 1); and __groundplane_under $argv
end
function __groundplane_under
    set -l words (commandline -opc)
    for i in (seq (count $argv))
        set -l at (math $i + 1)
        test "$words[$at]" = "$argv[$i]"; or return 1
    end
end
complete -c groundplane -f
${[...command_rows, ...name_rows, ...flag_rows].join('\n')}
`
}
