# Named steps with a summary: sourced by scripts/test and scripts/check.
#
#   step NAME COMMAND..      runs it; a failure is remembered and the next step goes on
#   skip NAME REASON         says that it was not run, and why
#   finish                   says what was and what was not run; fails if a step failed
#
# Counts of passed and failed tests are taken from cargo's own result lines, and go to the file that
# STEPS_TALLY names, if it does.

set -u
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
export CARGO_TERM_COLOR=never

steps_ran=()
steps_failed=()
steps_skipped=()
steps_passed_tests=0
steps_failed_tests=0
steps_log=$(mktemp)
trap 'rm -f "$steps_log"' EXIT

step() {
  local name=$1 began=$SECONDS counts
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@" 2>&1 | tee "$steps_log"
  if [ "${PIPESTATUS[0]}" -eq 0 ]; then
    steps_ran+=("$name")
    printf -- '-- %s: ok, %s s\n' "$name" $((SECONDS - began))
  else
    steps_failed+=("$name")
    printf -- '-- %s: FAILED, %s s\n' "$name" $((SECONDS - began))
  fi
  counts=$(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; .*/\1 \2/p' "$steps_log" |
    awk '{ passed += $1; failed += $2 } END { print passed + 0, failed + 0 }')
  steps_passed_tests=$((steps_passed_tests + ${counts% *}))
  steps_failed_tests=$((steps_failed_tests + ${counts#* }))
}

skip() {
  printf '\n== %s: not run: %s\n' "$1" "$2"
  steps_skipped+=("$1 ($2)")
}

list() {
  local IFS=';' text
  text="$*"
  printf '%s' "${text//;/, }"
}

finish() {
  # A step that failed without a test that failed, such as one that did not compile, counts as one.
  if [ "${#steps_failed[@]}" -gt 0 ] && [ "$steps_failed_tests" -eq 0 ]; then
    steps_failed_tests=${#steps_failed[@]}
  fi
  [ -z "${STEPS_TALLY:-}" ] || echo "$steps_passed_tests $steps_failed_tests" >>"$STEPS_TALLY"
  printf '\n%s passed, %s failed\n' "$steps_passed_tests" "$steps_failed_tests"
  printf 'run: %s; FAILED: %s; not run: %s\n' \
    "$(list "${steps_ran[@]:-nothing}")" "$(list "${steps_failed[@]:-nothing}")" \
    "$(list "${steps_skipped[@]:-nothing}")"
  [ "${#steps_failed[@]}" -eq 0 ]
}
