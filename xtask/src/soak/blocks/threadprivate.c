    U bad = 0; mine = @seed@;
#pragma omp parallel @team@ copyin(mine) reduction(+ : bad)
    {
        bad += mine != @seed@; mine += omp_get_thread_num();
        U *address = &mine;
#pragma omp barrier
        work(@spin@);
        bad += mine != @seed@ + omp_get_thread_num(); bad += address != &mine;
        U outer = mine;
        mine = outer;
#pragma omp barrier
        bad += mine != outer;
    }
    same(me, "own values", bad, 0);
