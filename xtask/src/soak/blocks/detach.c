    U x = 1; pthread_t other; int joined = 0;
#pragma omp parallel @team@
#pragma omp single
    {
        omp_event_handle_t first, second;
#pragma omp task detach(first) depend(out : x)
        x = x * 3 + 1;
#pragma omp task firstprivate(first)
        { work(@spin@); omp_fulfill_event(first); }
#pragma omp task detach(second) depend(inout : x)
        x = x * 5 + 2;
        joined = pthread_create(&other, 0, fulfil, (void *)(uintptr_t)second) == 0;
        if (!joined) omp_fulfill_event(second);
#pragma omp task depend(inout : x)
        x = x * 7 + 3;
#pragma omp taskwait depend(in : x)
        same(me, "after taskwait depend", x, 157);
    }
    if (joined) pthread_join(other, 0);
    same(me, "detach", x, 157);
