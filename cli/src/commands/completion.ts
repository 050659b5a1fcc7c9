import { defineCommand } from '../command.ts';
import { UsageError } from '../failure.ts';

/** Scripts for shells, which ask the program itself for the words that fit (`outlay complete`). */

const scripts: Readonly<Record<string, string>> = {
  bash: `_outlay() {
  local IFS=$'\\n'
  COMPREPLY=($(outlay complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _outlay outlay
`,
  zsh: `#compdef outlay
_outlay() {
  local -a found
  found=("\${(@f)$(outlay complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _outlay outlay
`,
  fish: `function __outlay
  set -l words (commandline -opc) (commandline -ct)
  outlay complete -- $words[2..-1] 2>/dev/null
end
complete -c outlay -a '(__outlay)'
`,
};

export const completionCommands = [
  defineCommand({
    name: 'completion',
    about: 'print the completion for a shell: bash, zsh or fish',
    words: ['shell'],
    examples: [
      'completion bash >> ~/.bashrc',
      'completion zsh >> ~/.zshrc',
      'completion fish > ~/.config/fish/completions/outlay.fish',
    ],
    run: ({ output }, { shell }) => {
      const script = scripts[shell];
      if (script === undefined) throw new UsageError('The shell must be bash, zsh or fish');
      output.result({ shell, script }, () => script.trimEnd());
    },
  }),
];
