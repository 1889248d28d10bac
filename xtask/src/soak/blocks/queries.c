    U bad = 0, numbers = 0, size = 0;
    int level = omp_get_level();
#pragma omp parallel @team@ reduction(+ : bad, numbers)
    {
        int t = omp_get_num_threads();
        bad += omp_get_level() != level + 1; bad += omp_get_team_size(level + 1) != t;
        bad += omp_get_ancestor_thread_num(level + 1) != omp_get_thread_num(); bad += omp_get_thread_num() >= t;
        bad += omp_in_parallel() != (omp_get_active_level() > 0); numbers += omp_get_thread_num();
#pragma omp single
        size = t;
#pragma omp task final(1)
        {
            if (!omp_in_final()) {
#pragma omp atomic write
                wrong = 1;
            }
        }
    }
    same(me, "queries", bad, 0); same(me, "numbers", numbers, size * (size - 1) / 2); same(me, "level", omp_get_level(), level);
