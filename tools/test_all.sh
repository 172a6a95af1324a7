#!/usr/bin/env bash
# Runs all tests with a new random seed each time. tools/test_all.sh [PART]... runs only some parts, including parts of the stress
# tests. SEED=7 repeats a run. If one part fails, the others still run.
set -uo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
seed=${SEED:-$(date +%s)}
failed=()

part() { # name, command...
    local name=$1
    shift
    printf '==== %s, SEED=%s (%s)\n' "$name" "$seed" "$(date +%T)"
    "$@" || failed+=("$name")
}

run_part() {
    case $1 in
        tests) part tests tools/test.sh --nightly ;;
        stress) part stress $python -m stress --nightly --seed "$seed" ;;
        tensorflow) part tensorflow $python -m tensorflow_comparison --seed "$seed" --times 5 ;;
        frameworks) part frameworks tools/test_frameworks.sh --nightly ;;
        ray) part ray tools/test_ray.sh ;;
        sanitizers) part sanitizers tools/sanitizers.sh ;;
        *) part "stress $1" $python -m stress --nightly --seed "$seed" "$1" ;;
    esac
}

for name in ${*:-tests stress tensorflow frameworks ray sanitizers}; do
    run_part "$name"
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed with SEED=%s: %s\n' "$seed" "$(IFS=,; echo "${failed[*]}")" >&2
    exit 1
fi
echo "all passed with SEED=$seed"
