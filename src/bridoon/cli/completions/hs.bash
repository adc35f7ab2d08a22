# Completes hs command lines in bash. In ~/.bashrc: eval "$(hs completion bash)"
_hs() {
    local rest=${COMP_LINE#*"${COMP_WORDS[0]}"} words=() count=0 last="" prefix="" i word value about
    # bash cuts words at = and : ; put together what stands together
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((count)) && [[ -n $word && $rest == "$word"* ]]; then
            prefix=${words[count - 1]}
            words[count - 1]+=$word
        else
            prefix=""
            words[count++]=$word
        fi
        rest=${rest#*"$word"}
    done
    last=${COMP_WORDS[COMP_CWORD]}
    if [[ $last == [=:] ]]; then
        prefix=${words[count - 1]} last=""
    fi
    COMPREPLY=()
    while IFS=$'\t' read -r value about; do
        case $value in
            :files | :directories)
                compopt -o filenames 2>/dev/null
                [[ $value == :files ]] && value=-f || value=-d
                while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "$value" -- "$last")
                ;;
            ?*) COMPREPLY+=("${value#"$prefix"}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null </dev/null)
}
complete -F _hs hs
