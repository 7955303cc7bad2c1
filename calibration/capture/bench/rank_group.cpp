#include "calibration/capture/bench/rank_group.hpp"

#include <algorithm>
#include <functional>

#include "calibration/capture/bench/device.hpp"

namespace gradwire::calibration {

RankGroup::RankGroup(const NcclApi& nccl, const NcclId& id, int ranks, int first,
                     const std::vector<int>& devices, std::size_t elements)
    : nccl_(nccl), ranks_(ranks) {
  const std::vector<float> ones(elements, 1.0F);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    GRADWIRE_CUDA_CHECK(cudaSetDevice(devices[i]));
    local_.push_back({first + static_cast<int>(i), devices[i], nullptr, Stream(),
                      DeviceArray<float>(elements), DeviceArray<float>(elements), StreamTimer()});
    local_.back().send.store(ones);
    local_.back().receive.store(ones);
  }
  nccl_.group_begin();
  for (Rank& rank : local_) {
    GRADWIRE_CUDA_CHECK(cudaSetDevice(rank.device));
    rank.comm = nccl_.init_rank(ranks, id, rank.rank);
  }
  nccl_.group_end();
}

RankGroup::~RankGroup() {
  for (const Rank& rank : local_) {
    if (rank.comm == nullptr) continue;
    try {
      nccl_.abort(rank.comm);
    } catch (const DeviceError&) {  // the process has nothing better to do with it
    }
  }
}

void RankGroup::wait() const {
  for (const Rank& rank : local_) rank.stream.wait();
}

std::vector<double> RankGroup::largest(std::vector<double> values) {
  if (static_cast<int>(local_.size()) == ranks_) return values;
  const Rank& own = local_.front();
  const DeviceArray<double> shared(values.size());
  shared.store(values);
  nccl_.all_reduce_max(shared.data(), values.size(), own.comm, own.stream.get());
  return shared.fetch();
}

std::vector<int> RankGroup::machines() {
  // Each process writes its own machine's number in its ranks' places; the others hold 0. Hashes
  // are cut to what a double holds exactly.
  constexpr std::size_t exact = 1ULL << 53U;
  const auto own = static_cast<double>(std::hash<std::string>{}(host_name()) % (exact - 1) + 1);
  std::vector<double> places(static_cast<std::size_t>(ranks_), 0);
  for (const Rank& rank : local_) places[static_cast<std::size_t>(rank.rank)] = own;
  places = largest(std::move(places));
  std::vector<double> met;
  std::vector<int> machines;
  for (const double place : places) {
    const auto found = std::find(met.begin(), met.end(), place);
    machines.push_back(static_cast<int>(found - met.begin()));
    if (found == met.end()) met.push_back(place);
  }
  return machines;
}

}  // namespace gradwire::calibration
