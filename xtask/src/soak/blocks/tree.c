    U got = 0, leaves = 0, want = 0; int n = @k@;
#pragma omp parallel @team@
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : leaves)
        {
            for (int i = 0; i < @m@; i++) {
#pragma omp task in_reduction(+ : leaves) @tied@ firstprivate(i)
                {
                    leaves += mix(i);
#pragma omp task in_reduction(+ : leaves) firstprivate(i)
                    { work(@spin@); leaves += mix(i + 1); }
#pragma omp taskyield
                }
            }
        }
        got = leaves;
        U x = 0, y = 0;
#pragma omp task shared(x) @tied@
        x = mix(1);
#pragma omp task shared(y) @tied@
        { work(@spin@); y = mix(2); }
#pragma omp taskwait
        got += x * 3 + y;
    }
    for (int i = 0; i < @m@; i++) want += mix(i) + mix(i + 1);
    same(me, "task reduction", got, want + mix(1) * 3 + mix(2)); (void)n;
