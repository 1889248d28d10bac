    static U out[1024]; U sum = 0, want = 0, bad = 0;
#pragma omp parallel for @team@ reduction(inscan, + : sum)
    for (int i = 0; i < 2 + @n@; i++) {
        sum += mix(i);
#pragma omp scan inclusive(sum)
        out[i] = sum;
    }
    for (int i = 0; i < 2 + @n@; i++) { want += mix(i); bad += out[i] != want; }
    same(me, "scan", bad, 0); same(me, "sum", sum, want);
