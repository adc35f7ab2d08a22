# Completes hs command lines in fish. Save as ~/.config/fish/completions/hs.fish
function __hs_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null </dev/null)
        switch $line
            case :files
                __fish_complete_path "$current"
            case :directories
                __fish_complete_directories "$current"
            case '?*'
                echo $line
        end
    end
end
complete -c hs -e
complete -c hs -f -a '(__hs_complete)'
