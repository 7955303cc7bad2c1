#include "strategies/servers/local_kv_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/core/refusal.hpp"
#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

constexpr int local_copy_out = 0;
constexpr int local_copy_in = 1;
constexpr int local_sum_thread = 0;
constexpr int update_thread = 1;
/// A parameter of more elements: the optimizer of a `local` store runs on the GPUs.
/// python/mxnet/model.py, _create_kvstore.
constexpr std::int64_t host_update_up_to = 16LL * 1024 * 1024;

/// CommDevice::InitMergeBuffer: the largest first, each to the GPU with the fewest elements so far,
/// the last one of these.
std::vector<int> deal_keys(const JobView& job) {
  std::vector<TensorId> keys(job.tensors.size());
  std::iota(keys.begin(), keys.end(), 0);
  std::ranges::stable_sort(keys, std::greater{},
                           [&job](TensorId key) { return job.tensor(key).elements; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(job.world_size), 0);
  std::vector<int> gpu_of(keys.size(), 0);
  for (const TensorId key : keys) {
    const auto least = std::ranges::min_element(load.rbegin(), load.rend());
    *least += job.tensor(key).elements;
    gpu_of[static_cast<std::size_t>(key)] = static_cast<int>(load.rend() - least) - 1;
  }
  return gpu_of;
}

bool updates_on_host(const KvStoreOptions& options, const JobView& job) {
  return options.update_on_kvstore &&
         std::ranges::all_of(job.tensors, [](const TensorInfo& tensor) {
           return tensor.elements <= host_update_up_to;
         });
}

}  // namespace

LocalKvStore::LocalKvStore(Poster& poster, const KvStoreOptions& options, const JobView& job)
    : poster_(&poster),
      options_(options),
      job_(job),
      layout_(job),
      updates_(updates_on_host(options, job)),
      gpu_of_key_(deal_keys(job)),
      to_host_(poster, messages_by(local_copy_out)),
      sum_(poster,
           [this](const LaneItem& load) {
             return HostWork{local_sum_thread,
                             local_sum_time(options_, job_, job_.world_size, load.size),
                             load.label};
           }),
      update_(poster,
              [this](const LaneItem& load) {
                return HostWork{update_thread, update_passes * (load.size / options_.sum_rate),
                                load.label};
              }),
      to_gpus_(poster, messages_by(local_copy_in)) {
  if (layout_.machines() > 1) {
    throw UnsupportedConfiguration(
        UnsupportedConfiguration::Key::strategy,
        fmt::format("kv_store {} is of one machine, the ranks are on {}; expected dist_sync or "
                    "dist_device_sync",
                    options_.kv_store, layout_.machines()));
  }
}

std::vector<Exchange> LocalKvStore::exchanges() const {
  if (!on_gpu()) return {layout_.copy_to_host(1), layout_.copy_back(1)};
  std::vector<Exchange> exchanges;
  for (int gpu = 0; gpu < job_.world_size; ++gpu) {
    Exchange gather{.name = fmt::format("copy to GPU {}", gpu), .phases = {{}}};
    for (int rank = 0; rank < job_.world_size; ++rank) {
      if (rank != gpu) gather.phases.front().push_back({gpu_of(rank), gpu_of(gpu)});
    }
    exchanges.push_back(gather);
    exchanges.push_back(reversed(std::move(gather), fmt::format("copy from GPU {}", gpu)));
  }
  return exchanges;
}

void LocalKvStore::push_pull(const LaneItem& item, TensorId key, const Poster::Then& pulled) {
  if (on_gpu()) {
    sum_on_gpu(item, merging_gpu(key), pulled);
  } else {
    sum_on_host(item, pulled);
  }
}

void LocalKvStore::sum_on_host(const LaneItem& item, const Poster::Then& pulled) {
  const auto back = [this, item, pulled] { to_gpus_.add(labelled("COPYH2D ", item, pulled)); };
  const auto update = [this, item, back] {
    if (updates_) {
      update_.add(labelled("UPDATE ", item, back));
    } else {
      back();
    }
  };
  to_host_.add(labelled("COPYD2H ", item,
                        [this, item, update] { sum_.add(labelled("LOCAL SUM ", item, update)); }));
}

void LocalKvStore::sum_on_gpu(const LaneItem& item, int gpu, const Poster::Then& pulled) {
  const auto copy = [this, item](int exchange, const char* label, const Poster::Then& then) {
    poster_->post(Messages{.exchange = exchange,
                           .size = item.size,
                           .tensors = item.tensors,
                           .label = label + item.label},
                  then);
  };
  const auto back = [copy, gpu, pulled] { copy(2 * gpu + 1, "BROADCAST ", pulled); };
  copy(2 * gpu, "GATHER ", [this, item, back] {
    // It reads all and writes one. Keys are spread evenly: each GPU has its share of this one.
    const double arrays = 1 + 1.0 / job_.world_size;
    DeviceWork sum{.label = "SUM " + item.label};
    sum.traffic = Bytes{static_cast<std::int64_t>(arrays * static_cast<double>(item.size.count()))};
    sum.stream = DeviceStream::side;
    sum.notify = true;
    poster_->post(std::move(sum), back);
  });
}

}  // namespace gradwire
