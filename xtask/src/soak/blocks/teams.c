    static U cells[1024]; U want = 0, got = 0;
    for (int i = 0; i < @n@; i++) cells[i] = 0;
#pragma omp teams distribute parallel for num_teams(@k@) thread_limit(3)
    for (int i = 0; i < @n@; i++) cells[i] += mix(i);
    for (int i = 0; i < @n@; i++) { want = want * 3 + mix(i); got = got * 3 + cells[i]; }
    same(me, "teams", got, want);
