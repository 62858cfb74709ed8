#!/usr/bin/env bash
# What runs on the cluster: safe to start again after any interruption.
set -euo pipefail
exec vgib recognize /shared/molecules --model qed --engine ray --address auto \
  --out /shared/recognised --resume
