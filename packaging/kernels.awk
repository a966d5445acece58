# Of kernels.sh: the table of facts, and what kernels.txt asks of them. A fact is: architecture, name, mangled name, registers,
# bytes that are spilled, of stack and of shared memory, threads of a block, instructions.

function min(a, b) { return a < b ? a : b }
function max(a, b) { return a > b ? a : b }
function up(n, unit) { return int((n + unit - 1) / unit) * unit }

# What a multiprocessor holds: warps, blocks, kilobytes of shared memory; bytes of it that the system takes for each block.
function holds(architecture, warps, blocks, shared, reserved) {
    most_warps[architecture] = warps
    most_blocks[architecture] = blocks
    most_shared[architecture] = shared * 1024
    reserved_shared[architecture] = reserved
}

# Warps that it runs at once in percent of those that it holds. Of its 65,536 registers a warp takes 256 at a time, and four
# warps take them together (occupancy calculator of the CUDA toolkit).
function occupancy(a, registers, shared, threads,    warps, blocks) {
    warps = up(threads, 32) / 32
    blocks = min(most_blocks[a], int(most_warps[a] / warps))
    blocks = min(blocks, int(int(65536 / up(32 * registers, 256) / 4) * 4 / warps))
    if (shared + reserved_shared[a] > 0)
        blocks = min(blocks, int(most_shared[a] / up(shared + reserved_shared[a], a == 75 ? 256 : 128)))
    return int(100 * blocks * warps / most_warps[a] + 0.5)
}

# The name without types and numbers among a template's arguments, which kernels of one row share.
function family(name,    type) {
    type = "(float|double|BFloat16|Float16|Unit16|bool|u?(char|short|int|long)|true|false|\\([A-Za-z:]+\\)[0-9]+|[0-9][0-9]?)"
    while (match(name, "<" type "(," type ")*>"))
        name = substr(name, 1, RSTART - 1) substr(name, RSTART + RLENGTH)
    while (match(name, "," type "[,>]"))
        name = substr(name, 1, RSTART - 1) substr(name, RSTART + RLENGTH - 1)
    while (match(name, "<" type ","))
        name = substr(name, 1, RSTART) substr(name, RSTART + RLENGTH)
    return name
}

# What the last line of a kind says of a kernel whose name begins as told there.
function asked_of(kind, name,    i, found) {
    for (i = 1; i <= lines; ++i)
        if (kinds[i] == kind && substr(name, 1, length(names[i])) == names[i]) {
            is_met[i]
            found = values[i]
        }
    return found
}

function fail(text) {
    print "kernels.txt: " text >"/dev/stderr"
    failures = 1
}

function judge(name, a, spilled, words,    first) {
    if (asked_of("hot", name) != "" && spilled > 0)
        fail(name " is hot and spills " spilled " bytes on " a)
    first = asked_of("tensor", name)
    if (first != "" && a + 0 >= first + 0 && words !~ /MMA/)
        fail(name " has no tensor instructions on " a)
}

# A row begins with 1 for hot kernels and 0 for others, and shows the worst of the kernels that it stands for.
function enter(row, name, a, registers, spilled, stack, shared, threads, words,    i, n, word, share) {
    if (!(row in count))
        rows[++row_count] = row
    if (!((row, name) in entered))
        ++count[row]
    entered[row, name]
    row_threads[row] = max(row_threads[row], threads)
    row_stack[row] = max(row_stack[row], stack)
    row_shared[row] = max(row_shared[row], shared)
    most_registers[row, a] = max(most_registers[row, a], registers)
    most_spilled[row, a] = max(most_spilled[row, a], spilled)
    share = threads > 0 ? occupancy(a, registers, shared, threads) : "?"
    if (!((row, a) in least) || share < least[row, a])
        least[row, a] = share
    n = split(words, word, " ")
    for (i = 1; i <= n; ++i) {
        if (!((row, word[i]) in where))
            row_words[row] = row_words[row] " " word[i]
        if (index(where[row, word[i]] " ", " " a " ") == 0)
            where[row, word[i]] = where[row, word[i]] " " a
    }
}

function print_row(row,    i, n, a, word, line) {
    line = "| `" substr(row, 2) "`" (count[row] > 1 ? " × " count[row] : "")
    line = line " | " (row_threads[row] ? row_threads[row] : "?") " | " row_shared[row] " | " row_stack[row] " | "
    for (i = 1; i <= architecture_count; ++i) {
        a = architecture[i]
        line = line ((row, a) in least ? most_registers[row, a] " / " most_spilled[row, a] " / " least[row, a] : "") " | "
    }
    n = split(row_words[row], word, " ")
    for (i = 1; i <= n; ++i)
        line = line (i > 1 ? ", " : "") word[i] (where[row, word[i]] == " " architectures ? "" : where[row, word[i]])
    print line " |"
}

function print_table(title, is_hot,    i, line, rule) {
    line = "| kernel | threads | shared | stack |"
    rule = "|---|---|---|---|"
    for (i = 1; i <= architecture_count; ++i) {
        line = line " " architecture[i] " |"
        rule = rule "---|"
    }
    print "\n## " title "\n\n" line " instructions |\n" rule "---|"
    for (i = 1; i <= row_count; ++i)
        if (substr(rows[i], 1, 1) == is_hot)
            print_row(rows[i])
}

BEGIN {
    holds(75, 32, 16, 64, 0)
    holds(80, 64, 32, 164, 1024)
    holds(86, 48, 16, 100, 1024)
    holds(89, 48, 24, 100, 1024)
    holds(90, 64, 32, 228, 1024)
    holds(100, 64, 32, 228, 1024)
    holds(120, 48, 24, 100, 1024)
    architecture_count = split(architectures, architecture, " ")
    while ((getline line <asked) > 0) {
        sub(/#.*/, "", line)
        if (split(line, field, " ") > 0) {
            kinds[++lines] = field[1]
            names[lines] = field[2]
            values[lines] = field[3] == "" ? 1 : field[3]
        }
    }
}

{
    is_hot = asked_of("hot", $2) != ""
    if (is_hot)
        hot_kernels[$2]
    judge($2, $1, $5, $9)
    enter(is_hot (asked_of("apart", $2) != "" ? $2 : family($2)), $2, $1, $4, $5, $6, $7 + asked_of("shared", $2), $8 > 0 ? $8 : asked_of("threads", $2), $9)
}

END {
    for (i = 1; i <= lines; ++i)
        if (!(i in is_met))
            fail("no kernel is called " names[i] "…")
    for (row in count)
        all_count += count[row]
    for (name in hot_kernels)
        ++hot_count
    print "# What nvcc makes of the CUDA kernels\n"
    print "Printed by `packaging/kernels.sh` with nvcc " version ": " all_count " kernels, " hot_count + 0 " of them hot by `kernels.txt`. Those that"
    print "differ in types and numbers alone share a row, which shows the worst of each. Under an architecture: registers of a thread /"
    print "bytes that it spills, stored and read again / warps that run at once, in percent of those that a multiprocessor holds."
    print "Shared memory of a block and stack of a thread (arrays with an index of run time, and what is spilled) in bytes, the most of"
    print "all architectures. Instructions: tensor products (…MMA), loads of their matrices (LDSM), asynchronous copies (LDGSTS,"
    print "UBLKCP, UTMALDG); on all architectures, or on those named."
    print_table("Hot", 1)
    print_table("Others", 0)
    exit failures + 0
}
