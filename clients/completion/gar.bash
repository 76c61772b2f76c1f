# bash completion of garctl, gard, gar-demo and gar-bench.                     -*- shell-script -*-
#
# Commands and options are what the program's own --help says. Names of clients and points are
# those of the running node, asked by garctl; where no gard runs there are none, and nothing is said.

# The long options of a command: _gar_options PROGRAM [COMMAND...]
_gar_options() {
  "$@" --help 2>/dev/null | sed -n 's/^ *\(-[a-zA-Z],\)\{0,1\}\(--[a-z][a-z-]*\).*/\2/p'
}

# Its commands.
_gar_commands() {
  "$@" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p'
}

# Answers of the running node, as JSON. A gard that does not answer is not waited for.
_gar_ask() {
  timeout 1 "$@" 2>/dev/null
}

# The strings of a JSON text behind what the first argument, a basic regular expression, matches.
_gar_json_strings() {
  grep -o "$1"'"\([^"\\]\|\\.\)*"' | sed 's/"$//; s/^.*[^\\]"//; s/\\\(.\)/\1/g' | sort -u
}

# Whoever is connected or has a plan; _gar_client_names PROGRAM [--control PATH]
_gar_client_names() {
  { _gar_ask "$@" --json clients | _gar_json_strings '"id":[0-9]*,"name":'
    _gar_ask "$@" --json plan show | _gar_json_strings '"client":'; } | sort -u
}

# Where somebody has waited or a plan is set.
_gar_point_names() {
  { _gar_ask "$@" --json points | _gar_json_strings '"point":'
    _gar_ask "$@" --json plan show | _gar_json_strings '"point":'; } | sort -u
}

# The keys of a list that a text does not give yet: _gar_missing_keys TEXT KEY...
_gar_missing_keys() {
  local text=,$1 key
  shift
  for key; do
    [[ $text == *",$key="* ]] || echo "$key"
  done
}

# How a plan's text can go on, whole texts. $2 is not empty where ';' and '>' may stand.
_gar_plan_texts() {
  local text=$1 quoted=$2 head='' part=$1 lead given last key keys value
  if [[ $text == *';'* ]]; then
    head=${text%;*}';' part=${text##*;}
    if [[ ! $part =~ ^rows\>=[0-9]+:(.*)$ ]]; then
      echo "${head}rows>="
      [[ $part =~ ^rows\>=[0-9]+$ ]] && echo "$head$part:"
      return
    fi
    head+=${part%"${BASH_REMATCH[1]}"} part=${BASH_REMATCH[1]}
  fi
  case $part in
    *+predict:*) keys='margin_us min_sleep_us max_sleep_us window' ;;
    *+*)
      echo "$head${part%%+*}+predict:margin_us="
      return
      ;;
    flag:*) keys='park_us backstop_us' ;;
    *)
      printf '%s\n' "${head}block" "${head}poll" "${head}flag:park_us="
      [[ $part == poll ]] && echo "${head}poll+predict:margin_us="
      [[ $quoted && ($part == poll || $part == block) ]] && echo "$head$part;rows>="
      return
      ;;
  esac
  given=${part##*:} lead=$head${part%"${part##*:}"} last=${given##*,}
  if [[ $last =~ ^([a-z_]+)=$ ]]; then # the values as shipped
    case ${BASH_REMATCH[1]} in
      park_us) value=100 ;; backstop_us) value=10000 ;;
      margin_us) value=200 ;; min_sleep_us) value=50 ;; max_sleep_us) value=50000 ;;
      window) value=8 ;;
    esac
    [[ $value ]] && echo "$lead$given$value"
  elif [[ $last =~ ^[a-z_]+=[0-9]+$ ]]; then
    # shellcheck disable=SC2086 # the keys are words
    keys=$(_gar_missing_keys "$given" $keys)
    for key in $keys; do
      echo "$lead$given,$key="
    done
    if [[ ! $keys ]]; then
      [[ $part == flag* && $part != *+* ]] && echo "$head$part+predict:margin_us="
      [[ $quoted ]] && echo "$head$part;rows>="
    fi
  else
    # shellcheck disable=SC2086
    for key in $(_gar_missing_keys "${given%"$last"}" $keys); do
      echo "$lead${given%"$last"}$key="
    done
  fi
}

# Fills COMPREPLY with the texts of standard input that go on from $1.
_gar_reply() {
  local cur=${1#[\"\']} text
  while IFS= read -r text; do
    [[ $text == "$cur"* ]] && COMPREPLY+=("$text")
  done
}

# What the shell makes of the unfinished word $1, into `plain`; into `kept` the part of it that stays
# as it is at a Tab: outside quotes, a character of COMP_WORDBREAKS ends a word, and what is behind it
# is replaced; an '@' itself, too.
_gar_read_word() {
  local word=$1 quote='' i c
  plain='' kept=''
  [[ $word == [\"\']* ]] && quote=${word:0:1} word=${word:1}
  for ((i = 0; i < ${#word}; ++i)); do
    c=${word:i:1}
    if [[ $c == \\ && (! $quote || ($quote == \" && ${word:i+1:1} == [\\\"\$\`])) ]]; then
      ((++i))
      c=${word:i:1}
    elif [[ ! $quote && $COMP_WORDBREAKS == *"$c"* ]]; then
      kept=$plain${c#@}
    fi
    plain+=$c
  done
}

# Fills COMPREPLY with the names of standard input that go on from $1. A name is whatever a client
# calls itself: each is offered so that the shell takes it for that text and for nothing else, or
# not at all where no quoting inside $1's quotes can say it.
_gar_reply_names() {
  local cur=$1 plain kept name c
  _gar_read_word "$cur"
  while IFS= read -r name; do
    [[ $name == "$plain"* ]] || continue
    case $cur in
      \"*)
        [[ $name == *!* ]] && continue
        for c in \\ \" \$ \`; do name=${name//"$c"/\\"$c"}; done
        ;;
      \'*) [[ $name == *\'* ]] && continue ;;
      *) name=$(printf %q "${name#"$kept"}") ;;
    esac
    COMPREPLY+=("$name")
  done
}

# What is offered is whole; only what follows `kept` of $1 is put in.
_gar_trim_reply() {
  local plain kept
  _gar_read_word "$1"
  if [[ $kept ]]; then
    # A directory's name without its beginning is none, and would be taken for a whole word.
    compopt -o nospace 2>/dev/null
    COMPREPLY=("${COMPREPLY[@]#"$kept"}")
  fi
}

_gar_complete_plan() {
  local cur=$1 quoted=''
  [[ $cur == [\"\']* ]] && quoted=yes
  compopt -o nospace 2>/dev/null
  _gar_reply "$cur" < <(_gar_plan_texts "${cur#[\"\']}" "$quoted")
  _gar_trim_reply "$cur"
}

# The value of the option $1, with $2 so far; false: it has none.
_gar_complete_value() {
  local option=$1 cur=$2
  case $option in
    --control | --config | --socket | --output)
      _filedir
      _gar_trim_reply "$cur"
      ;;
    --plan) _gar_complete_plan "$cur" ;;
    --device) mapfile -t COMPREPLY < <(compgen -W 'sim vulkan cuda hip' -- "$cur") ;;
    --log-level) mapfile -t COMPREPLY < <(compgen -W 'debug info warning error' -- "$cur") ;;
    --processes | --streams | --waits | --rotations | --work | --for) ;;
    *) return 1 ;;
  esac
}

# --OPTION=VALUE: `prev` becomes the option and `cur` the value; `before` is what bash does not keep
# of the word.
_gar_part_option() {
  before=''
  [[ $cur == --*=* ]] || return
  prev=${cur%%=*} cur=${cur#*=}
  [[ $COMP_WORDBREAKS == *=* ]] || before=$prev=
}

# Completes by the function $1, which fills COMPREPLY and sees `cur`, `prev`, `words` and `cword`.
_gar_complete_by() {
  local cur prev words cword before
  _init_completion -n :=@ || return
  _gar_part_option
  "$1"
  COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

_garctl() {
  _gar_complete_by _garctl_reply
}

_garctl_reply() {
  local program=${words[0]/#\~/$HOME} control=() command=() i
  for ((i = 1; i < cword; ++i)); do
    case ${words[i]} in
      --control) control=(--control "${words[i + 1]}") && ((++i)) ;;
      --control=*) control=("${words[i]}") ;;
      --client | --point) ((++i)) ;;
      [a-z]*) [[ ${#command[@]} -ge 2 || (${#command[@]} -eq 1 && ${command[0]} != plan) ]] ||
        command+=("${words[i]}") ;;
    esac
  done
  case $prev in
    --client) _gar_reply_names "$cur" < <(_gar_client_names "$program" "${control[@]}") && return ;;
    --point) _gar_reply_names "$cur" < <(_gar_point_names "$program" "${control[@]}") && return ;;
  esac
  _gar_complete_value "$prev" "$cur" && return
  if [[ $cur == -* ]]; then
    _gar_reply "$cur" < <(_gar_options "$program" "${command[@]}")
  elif [[ ${#command[@]} -eq 0 || (${command[*]} == plan) ]]; then
    _gar_reply "$cur" < <(_gar_commands "$program" "${command[@]}")
  elif [[ ${command[*]} == 'plan set' || ${command[*]} == 'plan check' ]]; then
    [[ $prev == "${command[1]}" ]] && _gar_complete_plan "$cur"
  fi
}

# gard, gar-demo, gar-bench
_gar_program() {
  _gar_complete_by _gar_program_reply
}

_gar_program_reply() {
  local program=${words[0]/#\~/$HOME} command=()
  case ${words[1]-} in
    ab | replay | scale) ((cword > 1)) && command=("${words[1]}") ;;
  esac
  _gar_complete_value "$prev" "$cur" && return
  if [[ $cur == -* ]]; then
    _gar_reply "$cur" < <(_gar_options "$program" "${command[@]}")
  elif [[ $program == *gar-bench && ! ${command[*]} ]]; then
    _gar_reply "$cur" < <("$program" --help 2>/dev/null |
      sed -n 's/^Cases: //p; s/^  gar-bench \([a-z]*\) .*/\1/p' | tr ' ' '\n')
  elif [[ ${command[*]} == replay ]]; then
    _filedir
  fi
}

complete -F _garctl garctl
complete -F _gar_program gard gar-demo gar-bench
