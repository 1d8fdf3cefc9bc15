#!/usr/bin/env bash
# From a fresh checkout to a report in one command: installs what is missing, installs
# metatrain-timing, makes a small data set, trains PET of metatrain on it with DataLoader
# workers while recording, and prints where a training step went.
#
# usage: scripts/demo.sh [--workers N] [--epochs N]
#   --workers N   DataLoader worker processes (default 2; 0: load in the training process)
#   --epochs N    passes over the training set (default 5)
#
# Everything is written below examples/metatrain/work/. Run it again as often as you like:
# each training is appended to run.db as a run of its own, and the report shows the newest.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

workers=2
epochs=5
while [ $# -gt 0 ]; do
    case $1 in
        --workers) workers=${2:-} ;;
        --epochs) epochs=${2:-} ;;
        --help | -h) print_usage && exit ;;
        *) die "unknown argument '$1'; try --help" ;;
    esac
    shift $(($# < 2 ? 1 : 2))
done
[[ $workers =~ ^[0-9]+$ ]] || die "--workers needs a number, not '$workers'"
[[ $epochs =~ ^[1-9][0-9]*$ ]] || die "--epochs needs a number from 1, not '$epochs'"

work_dir=$project_dir/examples/metatrain/work
bin_dir=$venv_dir/bin

# Shows the epochs of metatrain's log as they pass, cut to what fits a line.
show_epochs() {
    sed -u -n -E 's/^.*- (Epoch: +[0-9]+) .*(training loss: [^ ]+) .*$/   \1, \2/p'
}

"$project_dir/scripts/setup.sh" demo

heading "Install metatrain-timing"
say "pip install . (compiles for one or two minutes the first time)"
install_project
"$bin_dir/mt-analyze" --version

heading "Data set"
mkdir -p "$work_dir"
cd "$work_dir"
if [ -e structures.xyz ]; then
    say "structures.xyz is there already"
else
    "$bin_dir/python" ../make_dataset.py structures.part.xyz
    mv structures.part.xyz structures.xyz
fi

# Threads of torch that spin on cores which the workers need make every step slower.
cores=$(nproc)
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$((cores > workers + 1 ? cores - workers : 1))}

heading "Train PET: $epochs epochs, $workers workers, recording to run.db"
say "METATRAIN_TIMING_DB=run.db mtt train options.yaml, with $OMP_NUM_THREADS compute threads"
say "log: $work_dir/train.log"
if ! METATRAIN_TIMING_DB=run.db "$bin_dir/mtt" train ../options.yaml \
    -r "architecture.training.num_workers=$workers" \
    -r "architecture.training.num_epochs=$epochs" 2>&1 | tee train.log | show_epochs
then
    tail -n 20 train.log >&2
    die "the training failed; its whole log is $work_dir/train.log"
fi

heading "mt-analyze report run.db"
"$bin_dir/mt-analyze" report run.db
