#include "analyzer/replay/loader_replay.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "analyzer/replay/cpu_sharing.hpp"

namespace metatrain_timing::analyzer {
namespace {

// Who has activities: two threads of the training process and two of each worker.
constexpr std::size_t kMain = 0;
constexpr std::size_t kPin = 1;
constexpr std::size_t kFirstWorker = 2;

struct Worker {
    bool started = false;
    bool is_fresh = true;    // has not fetched yet
    bool is_taking = false;  // an index is on its way to it
    std::deque<std::size_t> indices;
    std::deque<std::size_t> fetched;  // and not sent; the first is being sent
    std::int64_t tasks = 0;           // put, and not delivered
};

// The batch that lies in a queue to the training thread.
struct Sent {
    std::size_t batch = 0;
    std::size_t worker = 0;
};

class LoaderReplay {
  public:
    LoaderReplay(const Workload& workload, const LoaderSettings& settings,
                 const Cpus& cpus)
        : workload_(workload),
          settings_(settings),
          worker_count_(static_cast<std::size_t>(
              std::max<std::int64_t>(settings.num_workers, 0))),
          cpus_(cpus, kFirstWorker + 2 * worker_count_),
          workers_(worker_count_),
          fetch_began_ns_(worker_count_) {}

    Replay run() {
        for (const PassWork& pass : workload_.passes) {
            begin_pass(pass);
            while (main_ != Main::done && cpus_.busy_count() > 0) {
                on_finished(cpus_.finish_next());
            }
        }
        return std::move(result_);
    }

  private:
    // What the training thread is doing.
    enum class Main {
        making,     // a worker
        preparing,  // putting the first indices
        between,    // making the iterator and the first wait
        drawing,    // an index, without workers
        fetching,   // without workers
        waiting,    // for what is sent
        receiving,
        putting,  // an index, as a batch is delivered
        body,
        done,
    };

    // ---- passes
    void begin_pass(const PassWork& pass) {
        pass_ = &pass;
        result_.passes.emplace_back();
        next_index_ = 0;
        next_turn_ = 0;
        expected_ = 0;
        next_worker_ = 0;
        owner_.clear();
        is_ready_.clear();
        sent_.clear();
        pinned_.clear();
        const bool keeps = settings_.persistent_workers && result_.passes.size() > 1;
        drop_work(keeps);
        begun_ns_ = cpus_.now_ns();
        to_make_ = keeps ? 0 : worker_count_;
        to_prepare_ = worker_count_ * static_cast<std::size_t>(std::max<std::int64_t>(
                                          settings_.prefetch_factor, 1));
        if (worker_count_ == 0) {
            to_prepare_ = 0;
        }
        make_next();
    }

    // What workers of the pass before still did is over, also where it was left early.
    void drop_work(bool keep_workers) {
        while (cpus_.busy_count() > 0) {
            cpus_.finish_next();
        }
        Worker worker;
        worker.started = keep_workers;
        worker.is_fresh = !keep_workers;
        workers_.assign(worker_count_, worker);
    }

    void make_next() {
        if (to_make_ > 0) {
            main_ = Main::making;
            cpus_.start(kMain, workload_.make_worker);
        } else {
            prepare_next();
        }
    }

    void prepare_next() {
        if (to_prepare_ > 0 && begin_put()) {
            --to_prepare_;
            main_ = Main::preparing;
            return;
        }
        result_.passes.back().make_ns = cpus_.now_ns() - begun_ns_;
        main_ = Main::between;
        cpus_.start(kMain, pass_->before_first_wait);
    }

    // ---- indices
    const BatchWork& work_of(std::size_t batch) const {
        return pass_->batches[batch % pass_->batches.size()];
    }

    bool has_index_left() const {
        return !pass_->exhausted || next_index_ < pass_->batches.size();
    }

    // Starts to put the next index, unless there is none or no worker can take it.
    bool begin_put() {
        if (!has_index_left()) {
            return false;
        }
        const auto limit = std::max<std::int64_t>(settings_.prefetch_factor, 1);
        for (std::size_t tried = 0; tried < worker_count_; ++tried) {
            const std::size_t w = next_worker_;
            next_worker_ = (next_worker_ + 1) % worker_count_;
            if (settings_.in_order || workers_[w].tasks < limit) {
                put_to_ = w;
                cpus_.start(kMain, work_of(next_index_).put);
                return true;
            }
        }
        return false;
    }

    void end_put() {
        Worker& worker = workers_[put_to_];
        worker.indices.push_back(next_index_++);
        worker.tasks += 1;
        owner_.push_back(put_to_);
        is_ready_.push_back(false);
        give_work(put_to_, true);
    }

    // ---- workers
    std::size_t agent_of(std::size_t worker) const { return kFirstWorker + 2 * worker; }

    void give_work(std::size_t w, bool was_idle) {
        Worker& worker = workers_[w];
        if (!worker.started || worker.indices.empty() || cpus_.is_busy(agent_of(w))) {
            return;
        }
        if (was_idle && workload_.index_latency_ns > 0) {
            worker.is_taking = true;
            cpus_.start(agent_of(w), waiting(workload_.index_latency_ns));
            return;
        }
        Work fetch = work_of(worker.indices.front()).fetch;
        if (worker.is_fresh) {
            fetch += workload_.first_fetch;
        }
        fetch_began_ns_[w] = cpus_.now_ns();
        cpus_.start(agent_of(w), fetch);
    }

    void on_worker(std::size_t w) {
        Worker& worker = workers_[w];
        if (!worker.started) {
            worker.started = true;
            give_work(w, false);
            return;
        }
        if (worker.is_taking) {
            worker.is_taking = false;
            give_work(w, false);
            return;
        }
        result_.fetch_ns += cpus_.now_ns() - fetch_began_ns_[w];
        worker.is_fresh = false;
        worker.fetched.push_back(worker.indices.front());
        worker.indices.pop_front();
        send_next(w);
        give_work(w, false);
    }

    void send_next(std::size_t w) {
        Worker& worker = workers_[w];
        if (!worker.fetched.empty() && !cpus_.is_busy(agent_of(w) + 1)) {
            cpus_.start(agent_of(w) + 1, work_of(worker.fetched.front()).send);
        }
    }

    void on_sender(std::size_t w) {
        sent_.push_back({workers_[w].fetched.front(), w});
        workers_[w].fetched.pop_front();
        send_next(w);
        if (settings_.pin_memory) {
            pin_next(true);
        } else if (main_ == Main::waiting) {
            begin_receive(true);
        }
    }

    // ---- from the workers to the loop
    Work receive_of(const Sent& sent) const {
        Work work = work_of(sent.batch).receive;
        const bool is_fetching =
            cpus_.is_busy(agent_of(sent.worker)) && !workers_[sent.worker].is_taking;
        if (is_fetching) {
            work.wall_ns *= workload_.receive_busy_factor;  // waiting, not computing
        }
        return work;
    }

    void pin_next(bool was_idle) {
        if (cpus_.is_busy(kPin) || sent_.empty()) {
            return;
        }
        const BatchWork& work = work_of(sent_.front().batch);
        cpus_.start(kPin, receive_of(sent_.front()) + work.pin +
                              waiting(was_idle ? workload_.batch_latency_ns : 0));
    }

    void on_pinned() {
        pinned_.push_back(sent_.front());
        sent_.pop_front();
        pin_next(false);
        if (main_ == Main::waiting) {
            begin_receive(true);
        }
    }

    std::deque<Sent>& incoming() { return settings_.pin_memory ? pinned_ : sent_; }

    void begin_receive(bool had_to_wait) {
        main_ = Main::receiving;
        const Work latency = waiting(had_to_wait ? workload_.batch_latency_ns : 0);
        cpus_.start(kMain, settings_.pin_memory ? latency
                                                : receive_of(sent_.front()) + latency);
    }

    void on_received() {
        const Sent sent = incoming().front();
        incoming().pop_front();
        if (settings_.in_order && sent.batch != expected_) {
            is_ready_[sent.batch] = true;
            look_for_batch();
        } else {
            deliver(sent.batch);
        }
    }

    // ---- the loop
    void next_turn() {
        if (next_turn_ == pass_->turns) {
            main_ = Main::done;
            return;
        }
        ++next_turn_;
        wait_began_ns_ = cpus_.now_ns();
        if (worker_count_ == 0) {
            main_ = Main::drawing;
            cpus_.start(kMain, workload_.sampler);
        } else {
            look_for_batch();
        }
    }

    void look_for_batch() {
        if (settings_.in_order && is_ready_[expected_]) {
            deliver(expected_);
        } else if (!incoming().empty()) {
            begin_receive(false);
        } else {
            main_ = Main::waiting;
        }
    }

    void deliver(std::size_t batch) {
        delivered_ = batch;
        expected_ = batch + 1;
        workers_[owner_[batch]].tasks -= 1;
        if (begin_put()) {
            main_ = Main::putting;
        } else {
            begin_body();
        }
    }

    void begin_body() {
        main_ = Main::body;
        body_began_ns_ = cpus_.now_ns();
        cpus_.start(kMain, work_of(delivered_).body);
    }

    void end_body() {
        result_.passes.back().turns.push_back({delivered_,
                                               body_began_ns_ - wait_began_ns_,
                                               cpus_.now_ns() - body_began_ns_});
        next_turn();
    }

    // ---- events
    void on_main() {
        switch (main_) {
            case Main::making: {
                const std::size_t w = worker_count_ - to_make_--;
                cpus_.start(agent_of(w), workload_.worker_start);
                make_next();
                break;
            }
            case Main::preparing:
                end_put();
                prepare_next();
                break;
            case Main::between:
                next_turn();
                break;
            case Main::drawing:
                main_ = Main::fetching;
                delivered_ = next_index_++;
                fetch_in_main_ns_ = cpus_.now_ns();
                cpus_.start(kMain, work_of(delivered_).fetch);
                break;
            case Main::fetching:
                result_.fetch_ns += cpus_.now_ns() - fetch_in_main_ns_;
                begin_body();
                break;
            case Main::receiving:
                on_received();
                break;
            case Main::putting:
                end_put();
                begin_body();
                break;
            case Main::body:
                end_body();
                break;
            case Main::waiting:
            case Main::done:
                break;  // without an activity
        }
    }

    void on_finished(std::size_t agent) {
        if (agent == kMain) {
            on_main();
        } else if (agent == kPin) {
            on_pinned();
        } else if ((agent - kFirstWorker) % 2 == 0) {
            on_worker((agent - kFirstWorker) / 2);
        } else {
            on_sender((agent - kFirstWorker) / 2);
        }
    }

    const Workload& workload_;
    const LoaderSettings settings_;
    const std::size_t worker_count_;
    CpuSharing cpus_;
    Replay result_;

    const PassWork* pass_ = nullptr;
    Main main_ = Main::done;
    std::vector<Worker> workers_;
    std::size_t to_make_ = 0;     // workers
    std::size_t to_prepare_ = 0;  // indices
    std::size_t next_index_ = 0;
    std::size_t next_worker_ = 0;
    std::size_t put_to_ = 0;
    std::vector<std::size_t> owner_;  // worker of each batch put
    std::vector<bool> is_ready_;      // batches that came before their turn
    std::deque<Sent> sent_;
    std::deque<Sent> pinned_;
    std::size_t next_turn_ = 0;
    std::size_t expected_ = 0;
    std::size_t delivered_ = 0;

    double begun_ns_ = 0;
    double wait_began_ns_ = 0;
    double body_began_ns_ = 0;
    double fetch_in_main_ns_ = 0;
    std::vector<double> fetch_began_ns_;
};

}  // namespace

Replay replay(const Workload& workload, const LoaderSettings& settings,
              const Cpus& cpus) {
    return LoaderReplay(workload, settings, cpus).run();
}

std::vector<ReplayedTurn> steady_turns(const Workload& workload, const Replay& replay) {
    std::vector<ReplayedTurn> steady;
    for (std::size_t p = 0; p < replay.passes.size(); ++p) {
        const auto& turns = replay.passes[p].turns;
        for (std::size_t i = 0; i < turns.size(); ++i) {
            if (workload.passes[p].batches[i].steady) {
                steady.push_back(turns[i]);
            }
        }
    }
    return steady;
}

}  // namespace metatrain_timing::analyzer
