# Sessions for commands in bash. Source it after bin/harness.

# _new_session [DIRECTORY]: makes a session for work in a directory (default: here) and prints the session's own.
_new_session() {
  _harness_run __new-session "${1:-${PWD}}"
}

# _next_seq SESSION: the number that the next message would get, as four digits or more.
_next_seq() {
  local path name last=0
  for path in "$1"/messages/*.md; do
    name="${path##*/}"
    if [[ "${name}" =~ ^([0-9]+)-[a-z_]+\.md$ ]] && (( 10#${BASH_REMATCH[1]} > last )); then
      last=$(( 10#${BASH_REMATCH[1]} ))
    fi
  done
  printf '%04d\n' $(( last + 1 ))
}

# _save_message SESSION TEXT: appends a message of the user.
_save_message() {
  printf '%s' "$2" | _harness_run __save-message "$1"
}
