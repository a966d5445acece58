# shellcheck shell=bash
# What tests of commands share. Sourced; they end with `exit $failures`.
failures=0

# What a command leaves that the next must not find: tests say it.
forget() { :; }

# expect TITLE WANTED-STATUS WANTED-WORDS COMMAND...
expect() {
    local title=$1 wanted=$2 words=$3 status=0 output
    shift 3
    output=$("$@" 2>&1) || status=$?
    if [ $status != "$wanted" ] || [[ $output != *$words* ]]; then
        printf 'FAIL %s: status %s, said: %s\n' "$title" $status "$output"
        failures=1
    fi
    forget
}
