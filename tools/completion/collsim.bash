# Completion of collsim for bash: the command itself says what may stand in a place.
_collsim() {
  local IFS=$'\n' word=${COMP_WORDS[COMP_CWORD]}
  local -a lines
  mapfile -t lines < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=()
  local line
  for line in "${lines[@]}"; do
    if [[ $line == :files ]]; then
      compopt -o filenames
      [[ $word == = ]] && word=
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word")
    else
      COMPREPLY+=("$line")
    fi
  done
}
complete -F _collsim collsim
