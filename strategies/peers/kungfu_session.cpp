#include "strategies/peers/kungfu_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "strategies/parts/job_places.hpp"

namespace gradwire {
namespace {

constexpr int session_to_host = 0;
constexpr int session_to_gpu = 1;
constexpr int operations_most = 1'000'000;
constexpr int window_most = 1'000;
/// Each part is looked at: less would only take long.
constexpr Bytes part_least{1024};

/// shard.go: the sum of the squares of the name's characters.
std::uint64_t name_hash(const std::string& name) {
  std::uint64_t hash = 0;
  for (const char character : name) {
    const auto code = static_cast<std::uint64_t>(static_cast<unsigned char>(character));
    hash += code * code;
  }
  return hash;
}

std::int64_t parts_of(Bytes size, Bytes part) {
  return (size.count() + part.count() - 1) / part.count();
}

/// Where the `part`-th of even parts begins: whole * part / parts, without that product.
std::int64_t part_begin(std::int64_t whole, std::int64_t part, std::int64_t parts) {
  return whole / parts * part + whole % parts * part / parts;
}

/// The bytes of `count` even parts from `first` on, of `parts` that share `size`.
Bytes even_share(Bytes size, std::int64_t first, std::int64_t count, std::int64_t parts) {
  return Bytes{part_begin(size.count(), first + count, parts) -
               part_begin(size.count(), first, parts)};
}

/// base/workspace.go: the interval of elements is in the name.
std::string part_name(const std::string& tensor, std::int64_t elements, std::int64_t part,
                      std::int64_t parts) {
  return fmt::format("part::{}[{}:{}]", tensor, part_begin(elements, part, parts),
                     part_begin(elements, part + 1, parts));
}

}  // namespace

KungfuSessionOptions read_kungfu_session(Knobs& knobs) {
  static const std::vector<std::string> hashes = {"INDEX", "NAME"};
  KungfuSessionOptions options;
  const auto names = kungfu_graph_names();
  const std::string graph = knobs.choice(
      "graph", "BINARY_TREE_STAR", names,
      "KUNGFU_ALLREDUCE_STRATEGY, kungfu-run -strategy; its default since October 2019");
  options.graph = static_cast<KungfuGraph>(std::ranges::find(names, graph) - names.begin());
  options.hash_by_name = knobs.choice("strategy_hash_method", "INDEX", hashes,
                                      "KUNGFU_CONFIG_STRATEGY_HASH_METHOD, shard.go") == "NAME";
  knobs.read("part", options.part, "chunkSize, session.go", part_least);
  options.operations = static_cast<int>(
      knobs.count("operations", options.operations, 1, operations_most,
                  "ours: operations that move the parts of a tensor on a graph; 1 000 000: each "
                  "part by itself"));
  options.window = static_cast<int>(knobs.count(
      "window", options.window, 1, window_most,
      "assumed: a part on the wire and one in the socket's buffer, between the same peers"));
  const BytesPerSecond sum_rate = knobs.rate(
      "sum_rate", knobs.cpu().sum_rate,
      "our measurement of one core that adds floats, profiles/libraries/cpu.yaml; that the "
      "sums of a process share one is assumed");
  options.host = read_kungfu_host(knobs);
  options.host.sum_rate = sum_rate;
  return options;
}

bool read_kungfu_config_server(Knobs& knobs) {
  return !knobs
              .text("config_server", "",
                    "KUNGFU_CONFIG_SERVER, its URL: behind every step the workers ask it and agree "
                    "on its answer (peer.go, hooks/elastic.py); none: they do not")
              .empty();
}

KungfuSession::KungfuSession(const KungfuSessionOptions& options, const JobView& job,
                             const std::vector<int>& peers, Poster& poster)
    : options_(options),
      host_(options.host, job),
      element_size_(job.element_size),
      poster_(&poster) {
  Exchange down{.name = "copy to host", .phases = {{}}};
  std::vector<int> machines;  // numbered in the order of their first peers
  std::map<int, int> number_of;
  for (const int rank : peers) {
    down.phases.front().push_back({gpu_of(rank), host_of(rank)});
    const int next = static_cast<int>(number_of.size());
    machines.push_back(number_of.try_emplace(machine_of(job, rank), next).first->second);
  }
  exchanges_ = {down, reversed(down, "copy to GPU")};
  std::int64_t most = 1;
  for (const auto& tensor : job.tensors) {
    most = std::max(most, parts_of(job.size_of(tensor), options_.part));
  }
  // A hash by name may ask for any graph, one by index for no more than a tensor has parts.
  if (options_.hash_by_name) most = static_cast<std::int64_t>(peers.size());
  const int wanted = static_cast<int>(std::min(most, static_cast<std::int64_t>(peers.size())));
  for (const auto& graph : kungfu_graphs(options_.graph, machines, wanted)) {
    Way down_only;
    add_stages(graph.broadcast, false, job, peers, down_only);
    Way both;
    add_stages(graph.reduce, true, job, peers, both);
    both.insert(both.end(), down_only.begin(), down_only.end());
    all_reduce_.push_back(std::move(both));
    broadcast_.push_back(std::move(down_only));
  }
  to_host_ = {{.exchange = session_to_host}};
  to_gpu_ = {{.exchange = session_to_gpu}};
  for (int exchange = 0; exchange < static_cast<int>(exchanges_.size()); ++exchange) {
    lanes_.emplace_back(poster, messages_by(exchange), Lane::Window{options.window});
  }
}

void KungfuSession::add_stages(const std::vector<std::vector<KungfuEdge>>& levels, bool sums,
                               const JobView& job, const std::vector<int>& peers, Way& way) {
  for (const auto& level : levels) {
    std::vector<Message> messages;
    std::map<int, int> sent;  // through sockets, by rank
    std::map<int, int> received;
    std::map<int, int> added;
    for (const auto& edge : level) {
      const int from = peers[static_cast<std::size_t>(edge.from)];
      const int to = peers[static_cast<std::size_t>(edge.to)];
      if (sums) ++added[to];
      if (machine_of(job, from) == machine_of(job, to)) {
        ++sent[from];
        ++received[to];
      } else {
        messages.push_back({host_of(from), host_of(to)});
      }
    }
    std::map<int, int> active;  // by machine
    for (const auto* ends : {&sent, &received}) {
      for (const auto& [rank, count] : *ends) ++active[machine_of(job, rank)];
    }
    Stage moved = busiest(Task::send, sent, active, job);
    const Stage read = busiest(Task::receive, received, active, job);
    if (read.work.longer() > moved.work.longer()) moved = read;
    if (!messages.empty()) moved.exchange = exchange_of(messages);
    way.push_back(moved);
    if (!sums) continue;
    active.clear();
    for (const auto& [rank, count] : added) ++active[machine_of(job, rank)];
    way.push_back(busiest(Task::sum, added, active, job));  // what is added has to be there
  }
}

KungfuSession::Stage KungfuSession::busiest(Task task, const std::map<int, int>& count_of_rank,
                                            const std::map<int, int>& active,
                                            const JobView& job) const {
  Stage most;
  for (const auto& [rank, count] : count_of_rank) {
    const int machine = machine_of(job, rank);
    const KungfuHost::Work work = task == Task::sum
                                      ? host_.sums(machine, count, active.at(machine))
                                      : host_.sockets(machine, count, active.at(machine));
    if (work.longer() > most.work.longer()) most = {.rank = rank, .task = task, .work = work};
  }
  return most;
}

int KungfuSession::exchange_of(const std::vector<Message>& messages) {
  std::vector<std::pair<int, int>> key;
  key.reserve(messages.size());
  for (const auto& message : messages) key.emplace_back(message.from.index, message.to.index);
  const auto [at, is_new] = known_.try_emplace(std::move(key), static_cast<int>(exchanges_.size()));
  if (is_new) {
    exchanges_.push_back({.name = "edges " + std::to_string(at->second), .phases = {messages}});
  }
  return at->second;
}

void KungfuSession::start(TensorId id, const TensorInfo& info, Kind kind, Poster::Then then) {
  auto job = std::make_shared<Job>(Job{.id = id,
                                       .size = Bytes{info.elements * element_size_},
                                       .kind = kind,
                                       .name = info.name,
                                       .elements = info.elements,
                                       .then = std::move(then)});
  if (kind == Kind::host_all_reduce) {
    split(job);
  } else {
    set_out(job, job->size, to_host_, [this, job] { split(job); });
  }
}

void KungfuSession::split(const JobPtr& job) {
  const auto& ways = job->kind == Kind::broadcast ? broadcast_ : all_reduce_;
  const std::int64_t parts = parts_of(job->size, options_.part);
  if (ways.front().empty()) {  // one peer: only the copies are left
    copy_back(job);
    return;
  }
  // Those of one graph are counted, then cut evenly into operations.
  std::vector<std::int64_t> on_graph(ways.size());
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto hash = options_.hash_by_name
                          ? name_hash(part_name(job->name, job->elements, part, parts))
                          : static_cast<std::uint64_t>(part);
    ++on_graph[static_cast<std::size_t>(hash % ways.size())];
  }
  std::vector<std::pair<Bytes, const Way*>> sent;
  std::int64_t first = 0;
  for (std::size_t graph = 0; graph < ways.size(); ++graph) {
    const std::int64_t here = on_graph[graph];
    const std::int64_t operations = std::min(here, static_cast<std::int64_t>(options_.operations));
    for (std::int64_t operation = 0; operation < operations; ++operation) {
      const std::int64_t count =
          here * (operation + 1) / operations - here * operation / operations;
      sent.emplace_back(even_share(job->size, first, count, parts), &ways[graph]);
      first += count;
    }
  }
  job->parts = sent.size();
  for (const auto& [size, way] : sent) {
    set_out(job, size, *way, [this, job] { part_over(job); });
  }
}

void KungfuSession::set_out(const JobPtr& job, Bytes size, const Way& way, Poster::Then then) {
  if (free_parts_.empty()) {
    Part& made = parts_.emplace_back();
    made.one_over = [this, &made] {
      if (--made.under_way > 0) return;
      ++made.stage;
      go(made);
    };
    free_parts_.push_back(&made);
  }
  Part& part = *free_parts_.back();
  free_parts_.pop_back();
  part.job = job;
  part.size = size;
  part.way = &way;
  part.then = std::move(then);
  part.stage = 0;
  go(part);
}

void KungfuSession::go(Part& part) {
  if (part.stage == part.way->size()) {
    const Poster::Then then = std::exchange(part.then, {});
    part.job.reset();
    free_parts_.push_back(&part);
    then();
    return;
  }
  const Stage& stage = (*part.way)[part.stage];
  const bool moves = stage.exchange >= 0;
  const bool works = stage.work.longer() > 0;
  part.under_way = (moves ? 1U : 0U) + (works ? 1U : 0U);
  if (works) work(part.size, stage, part.one_over);
  if (!moves) return;
  const auto exchange = static_cast<std::size_t>(stage.exchange);
  const bool control = part.job->kind == Kind::host_all_reduce;
  lanes_[exchange].add({.size = part.size,
                        .tensors = control ? std::vector<TensorId>{} : std::vector{part.job->id},
                        .label = exchanges_[exchange].name,
                        .then = part.one_over});
}

void KungfuSession::work(Bytes size, const Stage& stage, const Poster::Then& then) {
  constexpr int threads_of_rank = 4;  // each task's, then all its cores
  const int first = threads_of_rank * stage.rank;
  const auto bytes = static_cast<double>(size.count());
  poster_->post(HostWork{.thread = first + static_cast<int>(stage.task),
                         .time = Seconds{bytes * stage.work.turn},
                         .label = stage.task == Task::sum ? "sum" : "socket",
                         .beside = HostWork::Beside{.thread = first + threads_of_rank - 1,
                                                    .time = Seconds{bytes * stage.work.cores}}},
                then);
}

void KungfuSession::part_over(const JobPtr& job) {
  if (--job->parts > 0) return;
  if (job->kind == Kind::host_all_reduce) {
    job->then();
  } else {
    copy_back(job);
  }
}

void KungfuSession::copy_back(const JobPtr& job) {
  set_out(job, job->size, to_gpu_, job->then);
}

}  // namespace gradwire
