#pragma once

#include <algorithm>
#include <compare>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/exactness.hpp"
#include "sim/core/host_cpu.hpp"
#include "sim/core/host_step.hpp"
#include "sim/core/warning.hpp"
#include "strategies/operations.hpp"

namespace gradwire {

class EncodeCosts;
class Strategy;

// ---- what a strategy may know of the job ------------------------------------------------------

/// A layer of the model, in forward order.
struct LayerView {
  Seconds forward;
  Seconds backward;
  Seconds backward_launch{};  ///< what the host's thread takes for its backward
  bool made_again = false;    ///< backward runs its forward once more
};

constexpr std::int64_t gradient_element_size = 4;  ///< bytes, fp32
constexpr std::int64_t half_element_size = 2;      ///< bytes, fp16 and bf16
/// Bytes of an index of a sparse gradient's row: of torch's sparse tensors int64; of TensorFlow's
/// IndexedSlices what the ids are.
constexpr std::int64_t row_index_size = 8;

/// A job's number of workers changes. The half of it that these workers do comes before the run's
/// first iteration, which waits for it.
struct WorkerChange {
  bool behind = false;     ///< these are the workers behind the change; else those before it
  int workers = 1;         ///< behind it
  int machines = 1;        ///< of the cluster, each with a process that starts workers
  int joined = 0;          ///< of `workers`, those that were not there before
  Seconds worker_start{};  ///< from its process's start until such a one is ready to communicate
  Seconds latency{};       ///< one-way, of a small message between the cluster's machines
  int retries = 0;         ///< times that workers see different clusters, and look again
};

/// What a strategy may know of the job. Tensors in registration order.
struct JobView {
  int world_size = 1;
  int micro_batches = 1;  ///< backward passes per optimizer step
  std::vector<TensorInfo> tensors;
  std::vector<TensorId> gradient_order;
  std::int64_t element_size = gradient_element_size;  ///< bytes of an element of a gradient
  std::int64_t weight_size = gradient_element_size;   ///< bytes of a weight that the model keeps
  std::string dtype{};                                ///< the profile's; empty in unit tests
  std::int64_t buffer_elements = 0;  ///< of non-trainable state: batch-norm statistics, counters
  int buffer_tensors = 0;            ///< that hold them
  Bytes buffer_bytes{0};             ///< in them; 0: unknown
  std::vector<LayerView> layers;     ///< TensorInfo::layer is an index into it
  Seconds optimizer;                 ///< device time of the whole step
  HostStep host_step{};              ///< of the optimizer, where a host takes it
  HostOffloadRates host_offload{};   ///< by which a host does so
  HostCpu cpu{};                     ///< of every machine
  std::vector<int> machine_of;       ///< machine of each rank
  int machines = 1;                  ///< that ranks live on
  std::vector<int> server_machine;   ///< machine of each parameter server; may hold ranks as well
  /// One-way latency of a small message between the host memories of two machines of the job; of
  /// one machine alone, within it.
  Seconds message_latency;
  BytesPerSecond network_bandwidth;    ///< of a machine's first NIC, one direction
  BytesPerSecond host_copy_bandwidth;  ///< GPU to host memory, one direction
  bool peer_access = true;             ///< its GPUs in the first machine reach each other's memory
  bool clips_gradients = false;        ///< by the norm of all of them, before the optimizer
  /// What Python takes on its hosts, over hosts.yaml's; 0: the framework is not PyTorch.
  double python_time = 0;
  BytesPerSecond host_memory_rate{0};  ///< of a machine, nominal, as its node says; 0: unknown
  /// Workers of the job for which each of these stands: of many independent ones only some are
  /// simulated (sampling). What workers share of a host thread then takes this often its time.
  double stands_for = 1;
  std::vector<int> machine_of_all;  ///< of every worker that these stand for; empty: each its own
  /// What the job's library takes for an uncontended all-reduce of all ranks. Null in unit tests.
  std::function<Seconds(Bytes)> all_reduce_time;
  /// The job's library runs collectives as kernels (NCCL), not in threads of the host (Gloo, MPI).
  bool collectives_on_gpu = true;
  /// Mean iteration of this job under another strategy, made for this view: of so many, behind a
  /// first one, by the model of the run without what differs from iteration to iteration. Null in
  /// unit tests. REQUIRES: at least one; the strategy is of synchronous workers.
  std::function<Seconds(std::unique_ptr<Strategy>, int)> iteration_time;
  /// A compressor stands between the strategy and the network: it queues the messages that have a
  /// priority, so that coding one goes on beside sending another.
  bool coded = false;
  std::optional<WorkerChange> change;  ///< for strategies that follow one
  /// What compressors were measured to take; null: their kernels are priced.
  std::shared_ptr<const EncodeCosts> encode_costs;

  /// Gradients are exchanged in the last backward pass before the optimizer step.
  [[nodiscard]] bool synchronises(int micro_batch) const {
    return micro_batch + 1 == micro_batches;
  }
  [[nodiscard]] const TensorInfo& tensor(TensorId id) const {
    return tensors[static_cast<std::size_t>(id)];
  }
  /// Of so many elements of gradients.
  [[nodiscard]] Bytes size_of(std::int64_t elements) const {
    return Bytes{elements * element_size};
  }
  [[nodiscard]] Bytes size_of(const TensorInfo& tensor) const { return size_of(tensor.elements); }
  /// Rows of a rank's sparse gradient after a step's micro-batches; 0: it is dense.
  [[nodiscard]] std::int64_t sparse_rows(const TensorInfo& tensor) const {
    return tensor.sparse_rows == 0
               ? 0
               : std::min(tensor.shape.front(), micro_batches * tensor.sparse_rows);
  }
  [[nodiscard]] bool is_sparse(TensorId id) const { return sparse_rows(tensor(id)) > 0; }
  /// Of so many rows of a tensor.
  [[nodiscard]] Bytes size_of_rows(const TensorInfo& tensor, std::int64_t rows) const {
    return size_of(tensor.elements / tensor.shape.front() * rows);
  }
  /// Of all of a dense gradient, of the rows of a sparse one and their indices.
  [[nodiscard]] Bytes size_exchanged(const TensorInfo& tensor) const {
    const std::int64_t rows = sparse_rows(tensor);
    if (rows == 0) return size_of(tensor);
    return size_of_rows(tensor, rows) + Bytes{rows * row_index_size};
  }
  [[nodiscard]] std::int64_t elements_in(Bytes size) const { return size.count() / element_size; }
};

/// The worker that the `index`-th of `chosen` stands for itself: evenly spaced among `all`.
[[nodiscard]] constexpr int chosen_rank(int index, int chosen, int all) {
  return static_cast<int>(static_cast<std::int64_t>(index) * all / chosen);
}

/// One elementwise kernel that reads and writes a gradient once.
[[nodiscard]] inline DeviceWork copy_of(const JobView& job, const TensorInfo& tensor,
                                        std::string label) {
  return {.traffic = 2 * job.size_of(tensor), .label = std::move(label)};
}

// ---- a strategy's own exchanges ---------------------------------------------------------------

/// Where a message begins or ends.
struct Endpoint {
  enum class Place : std::uint8_t {
    gpu,     ///< memory of a rank's GPU
    host,    ///< host memory of a rank's machine
    server,  ///< host memory of a server's machine
  };
  Place place = Place::host;
  int index = 0;  ///< the rank, or the server
  auto operator<=>(const Endpoint&) const = default;
};
struct Message {
  Endpoint from;
  Endpoint to;
  double share = 1;  ///< of the operation's size, > 0
};
/// Messages that belong together. Those of a phase start together; the next phase starts when all
/// have arrived. Between two host memories of one machine a message takes no link.
struct Exchange {
  std::string name;
  std::vector<std::vector<Message>> phases;
  /// TCP connections from one place to another, for all exchanges that say the same number; each
  /// carries what the ports' connection_bandwidth allows.
  int connections = 1;
  Seconds startup{};  ///< beside the links' latency, once
  /// What it carries in an iteration beside its worker's others from one kind of place to another;
  /// only ratios count. 0: nothing. Worker sampling asks for it.
  double load = 1;
};

/// Is shown one exchange after the other; each may be written over the one before it.
using ExchangeVisit = std::function<void(const Exchange&)>;

/// The worker whose exchange this is: who receives its first message, or who sends it to a server.
[[nodiscard]] inline int worker_of(const Exchange& exchange) {
  const Message& first = exchange.phases.front().front();
  return first.to.place == Endpoint::Place::server ? first.from.index : first.to.index;
}

// ---- the seam ---------------------------------------------------------------------------------

/// A kind of collective that a strategy may post, so that it is planned before the run.
struct CollectiveUse {
  CollectiveKind kind = CollectiveKind::all_reduce;
  FamilyId communicator = families::all;
  int part = 0;  ///< as Collective's
  int root = 0;  ///< as Collective's
  auto operator<=>(const CollectiveUse&) const = default;
};

/// What a strategy needs of the training loop.
struct Traits {
  /// It posts something else than device work, collectives behind it and gates, all on the compute
  /// and the first communication stream: markers, side work, messages, host work, flags,
  /// collectives ready at once.
  bool dynamic = false;
  bool forward_hooks = false;
  bool backward_hooks = false;
  bool own_optimizer = false;  ///< it posts OptimizerSteps
  /// Given: the thread that launches backward waits for the gates before the optimizer's step, sees
  /// so long after they have opened that they have, and only then launches that step
  /// (ComputeProfile::executor: it does not take steps). Else the step is launched while they are
  /// closed. Without own_optimizer.
  std::optional<Seconds> late_step{};
  /// Every rank is a class of its own (asynchronous).
  bool independent_workers = false;
  /// Ranks without inputs do what the others wait for, as DDP's join() has it.
  bool shadows_ranks = false;
  bool workers_wait = false;  ///< independent ones that others of their machine keep together
  /// Independent ones are never more than so many iterations apart, where there is such a bound.
  std::optional<int> lead{};
  Exactness exactness = Exactness::exact;
  /// Of sparse gradients it exchanges rows; else all of them as if they were dense.
  bool exchanges_rows = false;
  /// Why the original lets nobody compress its gradients, and what it has instead; "" where it
  /// does.
  const char* takes_no_compression = "";
};

/// How what a strategy does changes from iteration to iteration, numbered from 0.
struct Phasing {
  /// First iteration of the phase that lasts. What comes before comes once: a warm-up, a switch.
  int steady_from = 0;
  int period = 1;  ///< iterations after which that phase repeats itself, >= 1

  /// Of two that run together.
  [[nodiscard]] Phasing with(const Phasing& other) const {
    return {std::max(steady_from, other.steady_from), std::lcm(period, other.period)};
  }
};

/// In which type the model's own weights are under mixed precision.
enum class MixedWeights : std::uint8_t {
  fp32,  ///< cast when they are used: torch.autocast, or into what FSDP gathers
  /// Two bytes, as their gradients; the optimizer has a copy in fp32 (DeepSpeed, Apex O2,
  /// Megatron).
  half,
};

/// What a rank's GPU holds of the model, beside activations.
struct Holding {
  double weights = 1;    ///< share of the parameters, 0..1
  double gradients = 1;  ///< share of their gradients; 0: they lie in `buffers`
  double optimizer = 1;  ///< share of the optimizer's state
  Bytes gathered{0};     ///< parameters of other ranks, the most at once
  Bytes buffers{0};      ///< that gradients travel in, there from the first iteration to the last
  Bytes host{0};         ///< of the host's memory, in place of the GPU's
  MixedWeights mixed = MixedWeights::fp32;
  Bytes step{0};  ///< copies of gradients in fp32 that the optimizer's step makes and frees
  bool fused_step = false;  ///< the optimizer is the system's own, one kernel that makes no others
};

/// Buckets, groups or partitions in launch order, for `show plan` and the tests.
struct PlanGroup {
  std::vector<TensorId> tensors;
  std::int64_t elements = 0;
  Bytes size{0};       ///< bytes that the collective or message moves
  std::string note{};  ///< where it goes or which part it is: "server 3", "part 2 of 5"
};

/// Decides which gradients travel together and when.
///
/// Events in, operations out. Pure: no clock but the stamp `now`, no I/O, no engine. The same
/// events give the same operations, always. Operation ids count the returned operations from 0 in
/// order, of every kind.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// @param now  time of the event since the start of the run, on the class's first member.
  /// @return operations to post, in order.
  virtual Operations on_event(Seconds now, const Event& event) = 0;

  [[nodiscard]] virtual Traits traits() const { return {}; }

  /// The collectives it may post.
  [[nodiscard]] virtual std::vector<CollectiveUse> collectives() const {
    return {{CollectiveKind::all_reduce, families::all}};
  }

  /// Families of groups of its own, numbered from families::own on. Not of a job whose ranks do
  /// different things.
  [[nodiscard]] virtual std::vector<GroupFamily> families() const { return {}; }

  /// Its own exchanges, for Messages.
  [[nodiscard]] virtual std::vector<Exchange> exchanges() const { return {}; }

  /// The same, one after the other, whose names may be left out: a thousand servers have a million.
  virtual void visit_exchanges(const ExchangeVisit& visit) const {
    for (const Exchange& exchange : exchanges()) visit(exchange);
  }

  /// The groups it forms in `iteration`.
  [[nodiscard]] virtual std::vector<PlanGroup> plan(int iteration) const = 0;

  [[nodiscard]] virtual Phasing phasing() const { return {}; }

  [[nodiscard]] virtual Holding holding() const { return {}; }

  /// What of its knobs it could not follow in this job ("knob-not-followed"), or costs much in it.
  [[nodiscard]] virtual std::vector<Warning> warnings() const { return {}; }

  /// Updates of others between a worker's read of the model and its own update, the mean over the
  /// run so far; nothing where workers are synchronous.
  [[nodiscard]] virtual std::optional<double> staleness() const { return std::nullopt; }
};

}  // namespace gradwire
