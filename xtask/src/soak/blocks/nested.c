    U sum = 0, added = 0, want = 0, plus = 0;
#pragma omp parallel @team@
    {
#pragma omp for @plain@
        for (int i = 0; i < @k@; i++) {
            U part = 0;
#pragma omp parallel for @inner@ @schedule@ reduction(+ : part)
            for (int j = 0; j < @m@; j++) {
                part += mix(i * 1000 + j);
                if (j % 16 == 0) {
                    U deep = 0;
#pragma omp parallel num_threads(@k@) reduction(+ : deep)
                    {
#pragma omp barrier
#pragma omp for
                        for (int x = 0; x < @k@; x++) deep += x;
                    }
#pragma omp atomic
                    plus += deep;
                }
            }
#pragma omp critical(sum)
            sum = sum + part;
#pragma omp atomic
            added += part * 3;
        }
    }
    U p = 0;
    for (int i = 0; i < @k@; i++)
        for (int j = 0; j < @m@; j++) { want += mix(i * 1000 + j); if (j % 16 == 0) p += @k@ * (@k@ - 1) / 2; }
    same(me, "critical", sum, want); same(me, "atomic", added, want * 3); same(me, "third level", plus, p);
