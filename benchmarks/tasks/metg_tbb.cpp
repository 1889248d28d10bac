// The graph on oneTBB, as a flow graph that is made once: a run makes no tasks and looks up no
// addresses. So its figures compare with `replay`, not with tasks that are made in each run.
#include "metg.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

namespace {

namespace tbb = oneapi::tbb;
namespace flow = oneapi::tbb::flow;

using Node = flow::continue_node<flow::continue_msg>;

struct Flow {
    flow::graph graph;
    flow::broadcast_node<flow::continue_msg> start{graph};
    std::list<Node> nodes;
};

long iterations_of_run;
std::unique_ptr<tbb::task_arena> arena;
std::unique_ptr<Flow> whole;

/// The newest task of each cell, and those that have read it since.
struct Uses {
    Node *writer = nullptr;
    std::vector<Node *> readers;
};

/// What `depend` makes of the reads and the write of each task.
void make_nodes()
{
    std::vector<Uses> uses[2] = {std::vector<Uses>(MOST_WIDTH), std::vector<Uses>(MOST_WIDTH)};
    for (int step = 0; step < graph.steps; ++step) {
        const int at = step % graph.period;
        auto &from = uses[(step + 1) % 2], &to = uses[step % 2];
        for (int i = 0; i < graph.width[at]; ++i) {
            whole->nodes.emplace_back(whole->graph,
                                      [=](flow::continue_msg) { metg_task(step, i, iterations_of_run); });
            Node &node = whole->nodes.back();
            bool is_first = true;
            const auto after = [&](Node *other) {
                flow::make_edge(*other, node);
                is_first = false;
            };
            const reads &before = graph.reads[at][i];
            for (int j = 0; j < before.count; ++j) {
                Uses &cell = from[static_cast<std::size_t>(before.cells[j])];
                if (cell.writer != nullptr)
                    after(cell.writer);
                cell.readers.push_back(&node);
            }
            Uses &own = to[static_cast<std::size_t>(i)];
            for (Node *reader : own.readers)
                after(reader);
            if (own.readers.empty() && own.writer != nullptr)
                after(own.writer);
            own.writer = &node;
            own.readers.clear();
            if (is_first)
                flow::make_edge(whole->start, node);
        }
    }
}

} // namespace

extern "C" void metg_prepare(void)
{
    static tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                     static_cast<std::size_t>(team_size));
    arena = std::make_unique<tbb::task_arena>(team_size);
    arena->execute([] {
        whole = std::make_unique<Flow>();
        make_nodes();
    });
}

extern "C" void metg_run(long iterations)
{
    iterations_of_run = iterations;
    arena->execute([] {
        whole->start.try_put(flow::continue_msg());
        whole->graph.wait_for_all();
    });
}
