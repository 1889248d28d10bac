    U got = 1, want = 1, at = 5;
#pragma omp parallel @team@
    {
#pragma omp for ordered @plain@
        for (int i = 0; i < @m@ * 4; i++) {
            work(@spin@);
#pragma omp ordered
            got = got * 3 + i;
        }
#pragma omp for linear(at : 3) @plain@
        for (int i = 0; i < @m@; i++) { if (at != 5 + (U)i * 3) { _Pragma("omp atomic") wrong++; } at += 3; }
    }
    for (int i = 0; i < @m@ * 4; i++) want = want * 3 + i;
    same(me, "ordered", got, want); same(me, "linear", at, 5 + (U)@m@ * 3);
