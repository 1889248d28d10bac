    U begun = 0, ended = 0, found = 0, tasks = 0;
#pragma omp parallel @team@ reduction(+ : begun, ended)
    {
#pragma omp for @plain@
        for (int i = 0; i < @n@ + 1; i++) {
            begun++;
            if (i == @n@ / 2) {
#pragma omp atomic write
                found = 1;
                ended++;
#pragma omp cancel for
                continue;
            }
            ended++;
#pragma omp cancellation point for
        }
    }
#pragma omp parallel @team@
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < @m@; i++) {
#pragma omp task firstprivate(i)
        {
#pragma omp atomic
            tasks++;
#pragma omp cancel taskgroup if(i == @k@)
        }
    }
#pragma omp parallel @team@
    {
        work(@spin@);
#pragma omp cancel parallel if(omp_get_thread_num() == 0)
#pragma omp barrier
    }
    same(me, "iterations begun and ended", begun, ended); same(me, "found", found, 1); same(me, "tasks", tasks >= 1 && tasks <= @m@, 1);
    if (!omp_get_cancellation()) { same(me, "all iterations", begun, @n@ + 1); same(me, "all tasks", tasks, @m@); }
