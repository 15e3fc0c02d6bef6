# Completion of collsim for fish: the command itself says what may stand in a place.
function __collsim_complete
    set -l words (commandline -opc)
    for line in ($words[1] --complete $words[2..-1] (commandline -ct) 2>/dev/null)
        if test "$line" = :files
            __fish_complete_path (commandline -ct)
        else
            echo $line
        end
    end
end
complete -c collsim -f -a '(__collsim_complete)'
