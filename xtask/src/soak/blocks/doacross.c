    static U cells[48][24], want[48][24];
    for (int i = 0; i < 48; i++) for (int j = 0; j < 24; j++) cells[i][j] = want[i][j] = mix(i * 24 + j);
#pragma omp parallel @team@
#pragma omp for ordered(2) @plain@
    for (int i = 1; i < 8 + @m@; i++)
        for (int j = 1; j < 8 + @k@; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            cells[i][j] += cells[i - 1][j] * 3 + cells[i][j - 1] * 5;
#pragma omp ordered depend(source)
        }
    for (int i = 1; i < 8 + @m@; i++) for (int j = 1; j < 8 + @k@; j++) want[i][j] += want[i - 1][j] * 3 + want[i][j - 1] * 5;
    U bad = 0;
    for (int i = 0; i < 48; i++) for (int j = 0; j < 24; j++) bad += cells[i][j] != want[i][j];
    same(me, "doacross", bad, 0);
