// The barriers that threads of a panel meet in.
//
// The spinning one is the point of the benchmark: it waits in an empty loop, with no pause instruction, no
// yield and no call that a runtime could see. When the threads that should arrive have no core, only the
// kernel's time slice, or a runtime that notices spinning, lets them come.
#pragma once

#include <atomic>

enum class BarrierKind { spin, omp };

/// A counter of arrivals and a generation. Reusable at once.
class SpinBarrier {
  public:
    /// Returns when `size` threads, the same number in every round, have called it.
    void wait(int size)
    {
        // The own arrival comes after this load, so the generation cannot have moved on yet.
        const int mine = generation_.load(std::memory_order_relaxed);
        // Acquire and release: the last to arrive has seen what all others wrote.
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size) {
            arrived_.store(0, std::memory_order_relaxed);
            generation_.store(mine + 1, std::memory_order_release);
        } else {
            while (generation_.load(std::memory_order_acquire) == mine) {
            }
        }
    }

  private:
    alignas(64) std::atomic<int> arrived_{0};
    alignas(64) std::atomic<int> generation_{0};
};

/// A barrier of one panel: of the kind asked for, and free of cost when a single thread works on the panel.
class PanelBarrier {
  public:
    explicit PanelBarrier(BarrierKind kind) : kind_(kind) {}

    /// To be called by all `size` threads of the innermost region; `rank` is the caller's number there.
    void wait(int rank, int size)
    {
        if (rank == 0)
            ++rounds_;
        if (size == 1)
            return;
        if (kind_ == BarrierKind::spin) {
            spin_.wait(size);
        } else {
#pragma omp barrier
        }
    }

    /// How often thread 0 has come here.
    long rounds() const
    {
        return rounds_;
    }

  private:
    BarrierKind kind_;
    long rounds_ = 0;
    SpinBarrier spin_;
};
