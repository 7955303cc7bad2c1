#include "strategies/parts/rehearsal.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gradwire {
namespace {

class Rehearsal {
 public:
  /// @param exchanges  distinct ones at which it may stop: nobody asks for more; 0: it does not.
  Rehearsal(Strategy& strategy, const JobView& job, int workers = 1, std::size_t exchanges = 0)
      : strategy_(strategy),
        job_(job),
        traits_(strategy.traits()),
        workers_(workers),
        exchanges_most_(exchanges) {}

  void iterate(int iteration) {
    posted_.clear();
    exchanges_.clear();
    begin_ = now_;
    tell_all(IterationStart{iteration});
    const int layers = static_cast<int>(job_.layers.size());
    for (int layer = 0; traits_.forward_hooks && layer < layers; ++layer) {
      tell_all(ForwardStart{.layer = layer});
    }
    const auto ready = ready_times(job_);
    const int last = job_.micro_batches - 1;
    for (std::size_t i = 0; i < ready.size() && !is_over(); ++i) {
      run_until(begin_ + ready[i]);
      tell_all(HookFired{.tensor = job_.gradient_order[i], .micro_batch = last});
    }
    tell_all(BackwardDone{.micro_batch = last});
    while (!queue_.empty() && !is_over()) run_until(queue_.begin()->first.first);
  }

  /// Of the last iteration, in order.
  [[nodiscard]] const std::vector<RehearsedCollective>& posted() const { return posted_; }
  [[nodiscard]] const std::set<int>& exchanges() const { return exchanges_; }
  /// The last iteration has used so many exchanges that it was stopped.
  [[nodiscard]] bool is_over() const {
    return exchanges_most_ > 0 && exchanges_.size() >= exchanges_most_;
  }

 private:
  template <class Event>
  void tell_all(Event event) {
    for (event.worker = 0; event.worker < workers_; ++event.worker) tell(event);
  }

  void tell(const Event& event) {
    for (const auto& operation : strategy_.on_event(now_, event)) {
      start(operation);
      ++next_id_;
    }
  }

  void start(const Operation& operation) {
    if (const auto* host = std::get_if<HostWork>(&operation)) {
      Seconds end =
          host->thread < 0 ? now_ + host->time : after(thread_free_[host->thread], host->time);
      if (host->beside) {
        end = std::max(end, after(thread_free_[host->beside->thread], host->beside->time));
      }
      end_at(end);
    } else if (const auto* collective = std::get_if<Collective>(&operation)) {
      posted_.push_back({now_ - begin_, *collective});
      const Seconds time =
          job_.all_reduce_time ? job_.all_reduce_time(collective->size) : Seconds{0};
      end_at(after(stream_free_[collective->stream], time));
    } else if (const auto* work = std::get_if<DeviceWork>(&operation)) {
      if (work->notify || work->stream == DeviceStream::side) end_at(now_);
    } else if (const auto* messages = std::get_if<Messages>(&operation)) {
      exchanges_.insert(messages->exchange);
      end_at(now_);
    }
  }

  Seconds after(Seconds& free, Seconds time) const {
    free = std::max(free, now_) + time;
    return free;
  }

  void end_at(Seconds time) { queue_.emplace(std::pair{time, sequence_++}, next_id_); }

  void run_until(Seconds time) {
    while (!queue_.empty() && queue_.begin()->first.first <= time && !is_over()) {
      const auto [key, operation] = *queue_.begin();
      queue_.erase(queue_.begin());
      now_ = key.first;
      tell(OperationDone{operation});
    }
    now_ = std::max(now_, time);
  }

  Strategy& strategy_;
  const JobView& job_;
  Traits traits_;
  WorkerId workers_;
  Seconds now_{};
  Seconds begin_{};
  OperationId next_id_ = 0;
  std::int64_t sequence_ = 0;
  std::map<std::pair<Seconds, std::int64_t>, OperationId> queue_;
  std::map<int, Seconds> thread_free_;
  std::map<int, Seconds> stream_free_;
  std::vector<RehearsedCollective> posted_;
  std::set<int> exchanges_;
  std::size_t exchanges_most_;
};

}  // namespace

std::vector<Seconds> ready_times(const JobView& job, Seconds (*layer_time)(const LayerView&)) {
  std::vector<Seconds> end_of_layer(job.layers.size());
  Seconds time{};
  for (std::size_t layer = job.layers.size(); layer-- > 0;) {
    time += layer_time(job.layers[layer]);
    end_of_layer[layer] = time;
  }
  std::vector<Seconds> ready;
  Seconds latest{};
  for (const TensorId id : job.gradient_order) {
    const auto layer = static_cast<std::size_t>(job.tensor(id).layer);
    if (layer < end_of_layer.size()) latest = std::max(latest, end_of_layer[layer]);
    ready.push_back(latest);
  }
  return ready;
}

std::vector<RehearsedCollective> rehearse(Strategy& strategy, const JobView& job, int iteration) {
  Rehearsal rehearsal(strategy, job);
  for (int i = 0; i <= iteration; ++i) rehearsal.iterate(i);
  return rehearsal.posted();
}

std::vector<bool> rehearse_exchanges(Strategy& strategy, const JobView& job, int workers,
                                     std::size_t count) {
  Rehearsal rehearsal(strategy, job, workers, count);
  rehearsal.iterate(0);
  std::vector<bool> used(count, true);
  if (rehearsal.is_over()) return used;
  const std::set<int> first = rehearsal.exchanges();
  rehearsal.iterate(1);
  used.assign(count, first != rehearsal.exchanges());
  for (const int exchange : first) used[static_cast<std::size_t>(exchange)] = true;
  return used;
}

namespace {

/// The later parts of a reduction in several steps carry what the first one did.
bool continues_another(const Collective& collective) {
  return collective.communicator == families::across ||
         (collective.communicator == families::node &&
          (collective.kind == CollectiveKind::all_gather ||
           collective.kind == CollectiveKind::broadcast));
}

}  // namespace

std::vector<PlanGroup> groups_of(const JobView& job,
                                 const std::vector<RehearsedCollective>& collectives) {
  std::vector<PlanGroup> groups;
  for (const auto& [posted, collective] : collectives) {
    if (collective.tensors.empty() || continues_another(collective)) continue;
    groups.push_back({collective.tensors, job.elements_in(collective.size), collective.size});
  }
  return groups;
}

}  // namespace gradwire
