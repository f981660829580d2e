# Runs the study and decides. The exit code of the gate is an output: the comment, the cache and
# the report come before it fails the job.
set -uo pipefail
baseline=.scruple-baseline-$(printf %s "$STUDY" | tr -c A-Za-z0-9 -).zip
comment="$RUNNER_TEMP/scruple-comment.md"
errors="$RUNNER_TEMP/scruple-errors.txt"
set_output() { echo "$1=$2" >> "$GITHUB_OUTPUT"; }
# Runs a command whose output has texts of models, servers and data: what looks like a command to
# the runner in them is none.
inert() {
  local token code
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "::stop-commands::$token"
  "$@" 2>&1
  code=$?
  printf '\n::%s::\n' "$token"
  return "$code"
}
rm -f "$comment"
read -ra args <<< "${ARGS:-}"
inert scruple run "$STUDY" ${args[@]+"${args[@]}"}
code=$?
report="$(dirname "$STUDY")/results"
if [ -d "$report" ]; then
  set_output report "$report"
else
  echo "::notice title=scruple::no report is uploaded: there is no folder $report"
fi
if [ "$code" -ne 0 ]; then # the run has no verdict: bad input, or too many failed trials
  set_output code "$code"
  echo "::error title=scruple::scruple run ended with exit code $code"
fi
# What selects the run selects what is decided and packed.
selects=()
for ((i = 0; i < ${#args[@]}; i++)); do
  flag=${args[i]} value=${args[i + 1]:-}
  case "$flag" in --*=*) value=${flag#*=} flag=${flag%%=*} ;; -o?*) value=${flag#-o} value=${value#=} flag=-o ;; esac
  case "$flag" in
    --split | --store) selects+=("$flag=$value") ;;
    -o | --override) selects+=("--override=$value") ;;
    --seed) selects+=("--override=execution.seed=$value") ;;
    --temperature) selects+=("--override=models[*].temperature=$value") ;;
    --attack) selects+=("--override=attacks.names=[$value]") ;;
    --defence) selects+=("--override=attacks.defence=$value") ;;
    --shuffle) selects+=("--override=candidates.shuffle=$value") ;;
    --allow-gaps)
      [[ ${args[i]} == *=* ]] || value=true
      selects+=("--override=data.allow_gaps=$value")
      ;;
  esac
done
against=()
[ -f "$baseline" ] && against=(--baseline "$baseline")
scruple gate "$STUDY" ${selects[@]+"${selects[@]}"} --format github --comment "$comment" ${against[@]+"${against[@]}"} 2> "$errors"
verdict=$?
inert cat "$errors"
if [ ! -f "$comment" ]; then # else the comment of an earlier push would stay; it has the mark of gate --comment
  printf '<!-- scruple: %s -->\n### %s: no verdict\n\n`scruple run` ended with exit code %s, `scruple gate` with %s: see the log of the job.\n' \
    "$(sed "s/--/- -/g; s/>/ /g" <<< "$STUDY")" "$STUDY" "$code" "$verdict" > "$comment"
fi
set_output comment "$comment"
[ "$code" -eq 0 ] && set_output code "$verdict"
# The run of the default branch is the baseline of the pull requests after it.
if [ "${IS_BASELINE:-false}" = true ] && [ "$code" -eq 0 ]; then
  rm -f "$baseline"
  inert scruple bundle "$STUDY" ${selects[@]+"${selects[@]}"} --out "$baseline" || echo "::warning title=scruple::the run is no baseline: it could not be packed"
fi
exit 0
