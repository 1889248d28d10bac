    U a = 0, b = 0, c = 0, copied = 0, team = 0, masked = 0, last = 0;
#pragma omp parallel @team@ reduction(+ : copied, team)
    {
        U given = 0;
        team = 1;
#pragma omp sections lastprivate(last) reduction(+ : a)
        {
#pragma omp section
            { a += 1; b = mix(1); last = 1; work(@spin@); }
#pragma omp section
            { a += 2; c = mix(2); last = 2; }
#pragma omp section
            { a += 4; last = 3; work(@spin@); }
        }
#pragma omp single copyprivate(given)
        given = mix(@seed@);
        copied = given;
#pragma omp master
        masked++;
#pragma omp barrier
    }
    same(me, "sections", a, 7); same(me, "b", b, mix(1)); same(me, "c", c, mix(2)); same(me, "last", last, 3);
    same(me, "copyprivate", copied, team * mix(@seed@)); same(me, "master", masked, 1);
