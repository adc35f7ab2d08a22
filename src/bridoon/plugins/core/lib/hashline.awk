# Line anchors in awk, for drop-ins that are shell scripts. The bundled tools do the same in bridoon/toolkit/hashline.py.
#
#   awk -f hashline.awk FILE                                    every line as LINE#HASH:text
#   awk -v start_line=10 -v max_lines=5 -f hashline.awk FILE    lines 10 to 14 only
#   awk -v mode=validate -v anchors=3:KX,9:PN -f hashline.awk   OK or MISMATCH for each; exit 1 after a mismatch
#   awk -v mode=context  -v anchors=3:KX,9:PN -f hashline.awk   what surrounds each mismatch; exit 1 after one
#
# The hash counts bytes. Run it with LC_ALL=C: an awk that counts characters gives other hashes for non-ASCII lines.

BEGIN {
    LETTERS = "ZPMQVRWSNKTXJBYH"
    for (code = 1; code < 256; code++)
        CODE[sprintf("%c", code)] = code
    first = start_line + 0
    last = max_lines + 0 > 0 ? (first > 1 ? first : 1) + max_lines - 1 : 0
    keep = (mode == "validate" || mode == "context")
}

keep                                  { text[NR] = $0; next }
NR >= first && (!last || NR <= last)  { print anchored(NR, $0) }

END {
    if (!keep)
        exit
    count = split(anchors, wanted, ",")
    for (i = 1; i <= count; i++) {
        split(wanted[i], part, ":")
        line = part[1] + 0
        found = line in text ? hash(line, text[line]) : "no such line"
        if (mode == "validate")
            print (found == part[2] ? "OK " line " " found : "MISMATCH " line " " part[2] " " found)
        if (found == part[2])
            continue
        wrong = 1
        if (mode == "context")
            surroundings(line, part[2], found)
    }
    exit wrong
}

function anchored(number, line) {
    return number "#" hash(number, line) ":" line
}

function hash(number, line,    value, at, length_of) {
    gsub(/\r/, "", line)
    sub(/[ \t]+$/, "", line)
    value = 5381
    length_of = length(line)
    for (at = 1; at <= length_of; at++)
        value = (value * 33 + CODE[substr(line, at, 1)]) % 256
    if (line !~ /[A-Za-z0-9]/)
        value = (value + number * (2654435761 % 256)) % 256
    value %= 256
    return substr(LETTERS, int(value / 16) + 1, 1) substr(LETTERS, value % 16 + 1, 1)
}

function surroundings(line, wanted_hash, found,    near) {
    printf "MISMATCH at line %d: expected %s, got %s\n", line, wanted_hash, found
    for (near = line - 2; near <= line + 2; near++)
        if (near in text)
            print (near == line ? ">>> " : "    ") anchored(near, text[near])
    print ""
}
