#!/bin/sh
# ns per operation of one lane for three of the benchmark's programs, by a C compiler with -O3 for AVX2.
# The last column sums up the results' bits: `QUADRILLE_TABLE=1 cargo bench -p quadrille-jit` prints the same.
# Usage: run.sh [COMPILER]; clang if there is one, else gcc; says so if there is neither.
set -eu
here=$(dirname "$0")
compiler=${1:-}
for name in clang gcc; do
    if [ -z "$compiler" ] && command -v "$name" >/dev/null; then compiler=$name; fi
done
if [ -z "$compiler" ]; then
    echo "skipped: neither clang nor gcc is here"
    exit 0
fi
if [ "$(uname -m)" != x86_64 ] || ! grep -q avx2 /proc/cpuinfo; then
    echo "skipped: no AVX2"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The same random program as `straight(b, 300)`.
awk 'BEGIN {
    state = 12345; n = 4;
    for (i = 0; i < 4; i++) printf "v v%d = in[%d];\n", i, i;
    for (i = 0; i < 300; i++) {
        state = (state * 1664525 + 1013904223) % 4294967296;
        m = n < 24 ? n : 24;
        x = n - 1 - int(state / 256) % m; y = n - 1 - int(state / 8192) % m; z = n - 1 - int(state / 262144) % m;
        op = int(state / 268435456);
        if (op <= 4) f = sprintf("add(v%d, v%d)", x, y);
        else if (op <= 9) f = sprintf("mul(v%d, v%d)", x, y);
        else if (op <= 12) f = sprintf("sub(v%d, v%d)", x, y);
        else if (op == 13) f = sprintf("max_(v%d, v%d)", x, y);
        else if (op == 14) f = sprintf("fma_(v%d, v%d, v%d)", x, y, z);
        else { f = sprintf("sel(lt(v%d, v%d), v%d, v%d)", x, y, x, z); extra++; }
        printf "v v%d = %s;\n", n++, f;
    }
    printf "v sum = v%d;\n", n - 1;
    for (i = 2; i < 20; i++) printf "sum = add(sum, v%d);\n", n - i;
    print "out[0] = sum;";
    printf "#define STRAIGHT_OPERATIONS %d\n", 300 + extra + 18;
}' >"$work/straight.inc"
"$compiler" -O3 -mavx2 -mfma -ffp-contract=off -I"$work" -o "$work/kernels" "$here/kernels.c"
"$compiler" --version | head -n 1
echo "| program | $compiler -O3 -mavx2 | results |"
echo "|---|---|---|"
"$work/kernels"
