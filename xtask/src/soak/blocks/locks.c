    omp_lock_t lock; omp_nest_lock_t nest; U sum = 0, deep = 0, tried = 0;
    omp_init_lock_with_hint(&lock, @hint@); omp_init_nest_lock_with_hint(&nest, @hint@);
#pragma omp parallel for @team@ @schedule@
    for (int i = 0; i < @m@ * 5; i++) {
        omp_set_lock(&lock); sum = sum + mix(i); work(@spin@ / 10); omp_unset_lock(&lock);
        omp_set_nest_lock(&nest); omp_set_nest_lock(&nest); deep = deep + i; omp_unset_nest_lock(&nest); deep = deep + 1; omp_unset_nest_lock(&nest);
        while (!omp_test_lock(&lock)) {
#pragma omp taskyield
        }
        tried++; omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock); omp_destroy_nest_lock(&nest);
    U s = 0, d = 0;
    for (int i = 0; i < @m@ * 5; i++) { s += mix(i); d += i + 1; }
    same(me, "lock", sum, s); same(me, "nest lock", deep, d); same(me, "test lock", tried, @m@ * 5);
