#compdef hs
# Completes hs command lines in zsh. In ~/.zshrc, after compinit: eval "$(hs completion zsh)"
_hs() {
    local line value
    local -a found shown
    for line in "${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)}"; do
        case $line in
            "") continue ;;
            :files) _files; return ;;
            :directories) _files -/; return ;;
        esac
        value=${line%%$'\t'*}
        found+=("$value")
        if [[ $line == *$'\t'?* ]]; then
            shown+=("${(r:24:)value} ${line#*$'\t'}")
        else
            shown+=("$value")
        fi
    done
    compadd -l -d shown -- "${found[@]}"
}
if [[ ${funcstack[1]} == _hs ]]; then
    _hs "$@"
else
    compdef _hs hs
fi
