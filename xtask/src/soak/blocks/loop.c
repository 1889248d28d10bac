    U got = @identity@, want = @identity@, count = 0, last = 0, seen = 0; Pair pair = {0, 0}, p = {0, 0};
    int low = 1 << 30, least = 1 << 30;
    static U hits[1024];
    for (int i = 0; i < @n@; i++) hits[i] = 0;
#pragma omp parallel @team@ reduction(+ : count)
    {
#pragma omp for @schedule@ reduction(@operator@ : got) reduction(pair : pair) reduction(min : low) lastprivate(last) nowait
        for (int i = 0; i < @n@; i++) {
            got = got @operator@ (mix(i + @seed@) | 1); Pair one = {i, mix(i)}; join(&pair, &one);
            if ((int)(mix(i) & 0xffff) < low) low = mix(i) & 0xffff;
            last = i + 7; hits[i]++; work(@spin@);
        }
#pragma omp for collapse(2) @schedule@
        for (int i = @m@; i > 0; i--)
            for (int j = 0; j < 60; j += @step@) count += mix(i * 100 + j);
#pragma omp for @plain@
        for (unsigned short i = 0; i < 200; i += @step@) {
#pragma omp critical(sum)
            seen = seen + mix(i);
        }
    }
    U c = 0, s = 0, all = 0;
    for (int i = 0; i < @n@; i++) {
        want = want @operator@ (mix(i + @seed@) | 1); Pair one = {i, mix(i)}; join(&p, &one); all |= hits[i] ^ 1;
        if ((int)(mix(i) & 0xffff) < least) least = mix(i) & 0xffff;
    }
    for (int i = @m@; i > 0; i--)
        for (int j = 0; j < 60; j += @step@) c += mix(i * 100 + j);
    for (int i = 0; i < 200; i += @step@) s += mix(i);
    same(me, "reduction", got, want); same(me, "pair.a", pair.a, p.a); same(me, "pair.b", pair.b, p.b); same(me, "min", low, least);
    same(me, "collapse", count, c); same(me, "critical", seen, s); same(me, "each iteration once", all, 0);
    if (@n@) same(me, "lastprivate", last, @n@ + 6);
