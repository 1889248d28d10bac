    U got = 0, want = 0, pairs = 0, p = 0;
#pragma omp parallel @team@
#pragma omp single
    {
#pragma omp taskloop @grain@ reduction(+ : got)
        for (int i = 0; i < @n@; i++) { got += mix(i ^ @seed@); work(@spin@ / 10); }
#pragma omp taskloop collapse(2) @grain@ nogroup shared(pairs)
        for (int i = 0; i < @k@; i++)
            for (int j = 30; j >= 0; j -= @step@) {
#pragma omp atomic
                pairs += mix(i * 64 + j);
            }
    }
    for (int i = 0; i < @n@; i++) want += mix(i ^ @seed@);
    for (int i = 0; i < @k@; i++) for (int j = 30; j >= 0; j -= @step@) p += mix(i * 64 + j);
    same(me, "taskloop reduction", got, want); same(me, "collapse", pairs, p);
