// Sort, fft and alignment on oneTBB: the recursions of sort_tasks.c, fft_tasks.c and alignment_tasks.c with
// its task groups.
#include "suite.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <cstddef>

namespace {

namespace tbb = oneapi::tbb;

/// Runs `work` in an arena of the size asked for, also where that is more than the processors.
template <typename Work>
void in_arena(Work work)
{
    const auto parallelism = tbb::global_control::max_allowed_parallelism;
    static tbb::global_control limit(parallelism, static_cast<std::size_t>(team_size));
    static tbb::task_arena arena(team_size);
    arena.execute(work);
}

void merge(const int *a, long count_a, const int *b, long count_b, int *to)
{
    if (count_a < count_b) {
        std::swap(a, b);
        std::swap(count_a, count_b);
    }
    if (count_a + count_b <= SORT_LEAF) {
        merge_leaf(a, count_a, b, count_b, to);
        return;
    }
    const long half_a = count_a / 2, half_b = rank_of(a[half_a], b, count_b);
    tbb::task_group tasks;
    tasks.run([=] { merge(a, half_a, b, half_b, to); });
    tasks.run(
        [=] { merge(a + half_a, count_a - half_a, b + half_b, count_b - half_b, to + half_a + half_b); });
    tasks.wait();
}

void sort(int *data, int *scratch, long count)
{
    if (count <= SORT_LEAF) {
        sort_leaf(data, count);
        return;
    }
    const long quarter = count / 4, half = 2 * quarter, last = count - 3 * quarter;
    tbb::task_group tasks;
    tasks.run([=] { sort(data, scratch, quarter); });
    tasks.run([=] { sort(data + quarter, scratch + quarter, quarter); });
    tasks.run([=] { sort(data + half, scratch + half, quarter); });
    tasks.run([=] { sort(data + half + quarter, scratch + half + quarter, last); });
    tasks.wait();
    tasks.run([=] { merge(data, quarter, data + quarter, quarter, scratch); });
    tasks.run([=] { merge(data + half, quarter, data + half + quarter, last, scratch + half); });
    tasks.wait();
    merge(scratch, half, scratch + half, count - half, data);
}

void fft(const complex_number *from, complex_number *to, long count, long stride)
{
    if (count <= FFT_LEAF) {
        fft_leaf(from, to, count, stride);
        return;
    }
    tbb::task_group tasks;
    tasks.run([=] { fft(from, to, count / 2, 2 * stride); });
    tasks.run([=] { fft(from + stride, to + count / 2, count / 2, 2 * stride); });
    tasks.wait();
    for (long begin = 0; begin < count / 2; begin += FFT_CHUNK) {
        const long end = std::min(begin + static_cast<long>(FFT_CHUNK), count / 2);
        if (count / 2 <= FFT_CHUNK)
            fft_join(to, count, begin, end);
        else
            tasks.run([=] { fft_join(to, count, begin, end); });
    }
    tasks.wait();
}

void solve_sort()
{
    in_arena([] { sort(sort_data, sort_scratch, SORT_COUNT); });
}

void solve_fft()
{
    in_arena([] { fft(fft_input, fft_output, FFT_COUNT, 1); });
}

void solve_alignment()
{
    in_arena([] {
        tbb::task_group tasks;
        tbb::parallel_for(1, static_cast<int>(SEQUENCES), [&](int i) {
            for (int j = 0; j < i; ++j)
                tasks.run([=] { alignment_scores[i][j] = alignment_score(i, j); });
        });
        tasks.wait();
    });
}

const program sort_program = {"sort", sort_prepare, solve_sort, sort_check};
const program fft_program = {"fft", fft_prepare, solve_fft, fft_check};
const program alignment_program = {"alignment", alignment_prepare, solve_alignment, alignment_check};

} // namespace

extern "C" const program *const programs[] = {&sort_program, &fft_program, &alignment_program, nullptr};
