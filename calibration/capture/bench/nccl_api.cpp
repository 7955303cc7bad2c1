#include "calibration/capture/bench/nccl_api.hpp"

#include "calibration/capture/bench/cublas_api.hpp"
#include "calibration/capture/bench/cuda_support.hpp"

namespace gradwire::calibration {
namespace {

constexpr int success = 0;  // ncclSuccess
constexpr int float32 = 7;  // ncclFloat32
constexpr int float64 = 8;  // ncclFloat64
constexpr int sum = 0;      // ncclSum
constexpr int maximum = 2;  // ncclMax
constexpr int root = 0;

struct SimInfo {  // ncclSimInfo_v22200
  std::size_t size = sizeof(SimInfo);
  unsigned magic = 0x74685283;
  unsigned version = 22200;
  float estimated_time = -1;  // NCCL_UNDEF_FLOAT; microseconds
};

}  // namespace

NcclApi::NcclApi() {
  const DynamicLibrary library = load_first_of({"libnccl.so.2"}, "NCCL");
  const bool found =
      library.find("ncclGetVersion", get_version_) &&
      library.find("ncclGetErrorString", error_string_) &&
      library.find("ncclGetUniqueId", get_unique_id_) &&
      library.find("ncclCommInitRank", init_rank_) && library.find("ncclCommDestroy", destroy_) &&
      library.find("ncclCommAbort", abort_) && library.find("ncclGroupStart", group_start_) &&
      library.find("ncclGroupEnd", group_end_) && library.find("ncclAllReduce", all_reduce_) &&
      library.find("ncclReduceScatter", reduce_scatter_) &&
      library.find("ncclAllGather", all_gather_) && library.find("ncclBroadcast", broadcast_) &&
      library.find("ncclReduce", reduce_) && library.find("ncclSend", send_) &&
      library.find("ncclRecv", receive_);
  if (!found) throw DeviceError(library.name() + " lacks a call; expected NCCL 2.7 or later");
  library.find("ncclGroupSimulateEnd", simulate_end_);
}

void NcclApi::check(int result, const char* call) const {
  if (result != success) throw DeviceError(std::string(call) + ": " + error_string_(result));
}

std::string NcclApi::version() const {
  // From 2.9 on two digits each for minor and patch, before one (nccl.h, NCCL_VERSION).
  constexpr int first_with_five_digits = 10'000;
  int code = 0;
  check(get_version_(&code), "ncclGetVersion");
  const bool wide = code >= first_with_five_digits;
  return std::to_string(code / (wide ? 10'000 : 1'000)) + "." +
         std::to_string(code / 100 % (wide ? 100 : 10)) + "." + std::to_string(code % 100);
}

NcclId NcclApi::make_id() const {
  NcclId id;
  check(get_unique_id_(&id), "ncclGetUniqueId");
  return id;
}

NcclComm NcclApi::init_rank(int ranks, const NcclId& id, int rank) const {
  NcclComm comm = nullptr;
  check(init_rank_(&comm, ranks, id, rank), "ncclCommInitRank");
  return comm;
}

void NcclApi::destroy(NcclComm comm) const {
  check(destroy_(comm), "ncclCommDestroy");
}

void NcclApi::abort(NcclComm comm) const {
  check(abort_(comm), "ncclCommAbort");
}

void NcclApi::group_begin() const {
  check(group_start_(), "ncclGroupStart");
}

void NcclApi::group_end() const {
  check(group_end_(), "ncclGroupEnd");
}

void NcclApi::group_give_up() const {
  static_cast<void>(group_end_());
}

std::optional<double> NcclApi::group_simulate_end() const {
  if (simulate_end_ == nullptr) {
    group_end();
    return std::nullopt;
  }
  SimInfo info;
  if (simulate_end_(&info) != success || info.estimated_time <= 0) return std::nullopt;
  return static_cast<double>(info.estimated_time);
}

void NcclApi::all_reduce(const float* send, float* receive, std::size_t count, NcclComm comm,
                         cudaStream_t stream) const {
  check(all_reduce_(send, receive, count, float32, sum, comm, stream), "ncclAllReduce");
}
void NcclApi::reduce_scatter(const float* send, float* receive, std::size_t receive_count,
                             NcclComm comm, cudaStream_t stream) const {
  check(reduce_scatter_(send, receive, receive_count, float32, sum, comm, stream),
        "ncclReduceScatter");
}
void NcclApi::all_gather(const float* send, float* receive, std::size_t send_count, NcclComm comm,
                         cudaStream_t stream) const {
  check(all_gather_(send, receive, send_count, float32, comm, stream), "ncclAllGather");
}
void NcclApi::broadcast(const float* send, float* receive, std::size_t count, NcclComm comm,
                        cudaStream_t stream) const {
  check(broadcast_(send, receive, count, float32, root, comm, stream), "ncclBroadcast");
}
void NcclApi::reduce(const float* send, float* receive, std::size_t count, NcclComm comm,
                     cudaStream_t stream) const {
  check(reduce_(send, receive, count, float32, sum, root, comm, stream), "ncclReduce");
}
void NcclApi::send(const float* from, std::size_t count, int peer, NcclComm comm,
                   cudaStream_t stream) const {
  check(send_(from, count, float32, peer, comm, stream), "ncclSend");
}
void NcclApi::receive(float* to, std::size_t count, int peer, NcclComm comm,
                      cudaStream_t stream) const {
  check(receive_(to, count, float32, peer, comm, stream), "ncclRecv");
}
void NcclApi::all_reduce_max(double* values, std::size_t count, NcclComm comm,
                             cudaStream_t stream) const {
  check(all_reduce_(values, values, count, float64, maximum, comm, stream), "ncclAllReduce");
}

}  // namespace gradwire::calibration
