#include "sim/config/profile/hosts_yaml.hpp"

#include <utility>

#include "sim/config/data_files.hpp"
#include "sim/config/yaml/fields.hpp"
#include "sim/config/yaml/loaded_yaml.hpp"

namespace gradwire::config {
namespace {

constexpr const char* hosts_file = "profiles/tables/hosts.yaml";  ///< in the data folder

/// Both directions of a pass.
template <class T>
Fields<T> both_ways(const char* name, const char* summary) {
  return {name,
          summary,
          {field("forward", &T::forward, "of the forward pass", {}, required),
           field("backward", &T::backward, "of the backward pass", {}, required)}};
}

const Fields<CastHost>& cast_fields() {
  static const auto fields = both_ways<CastHost>("cast", "a cast to half precision");
  return fields;
}

const Fields<LaunchTimes>& launch_fields() {
  static const auto fields = both_ways<LaunchTimes>("launches", "what a host takes more");
  return fields;
}

const Fields<CheckpointHost>& checkpoint_fields() {
  static const Fields<CheckpointHost> fields = {
      "checkpoint",
      "where a block runs again in backward",
      {inside("block", &CheckpointHost::block, launch_fields, "once a block", required),
       inside("operators", &CheckpointHost::operators, launch_fields, "of each operator",
              required)}};
  return fields;
}

const Fields<OperatorHost>& operator_fields() {
  static const Fields<OperatorHost> fields = {
      "operator",
      "what a host takes for an operator",
      {field("work", &OperatorHost::work, "its class", {}, "every other"),
       field("forward", &OperatorHost::forward, "with its first kernel", {}, required),
       field("backward", &OperatorHost::backward, "with its first kernel", {}, required),
       field("further", &OperatorHost::further, "each further kernel")}};
  return fields;
}

const Fields<Framework>& framework_fields() {
  static const Fields<Framework> fields = {
      "framework",
      "a framework as its launching thread spends its time",
      {field("name", &Framework::name, "its own", {}, required),
       field("summary", &Framework::summary, "one line", {}, required),
       field("source", &Framework::source, "where its times are known from", {}, required),
       choice(
           "fusion", &Framework::fusion,
           {{"none", Fusion::none}, {"bn_relu", Fusion::bn_relu}, {"inductor", Fusion::inductor}},
           "what it merges"),
       inside("operators", &Framework::operators, operator_fields,
              "by class of work; the last is for every class not named", required),
       field("gradient", &Framework::gradient, "a gradient's accumulation and hook"),
       inside("cast", &Framework::cast, cast_fields, "of a weight, or of a product's input",
              required),
       field("update", &Framework::update, "a tensor's, where the optimizer has no own times"),
       field("persistent_norms", &Framework::persistent_norms, "batch norms read tensors once"),
       field("fp16_channels_last", &Framework::fp16_channels_last, "of convolutions in fp16"),
       field("primitives", &Framework::primitives, "models of tokens run by primitives"),
       field("one_executable", &Framework::one_executable,
             "all of backward is one: no gradient is there before its end"),
       inside("checkpoint", &Framework::checkpoint, checkpoint_fields, "of blocks run again")}};
  return fields;
}

/// Times of PyTorch's thread for a tensor, of which an optimizer's are made.
struct StepTimes {
  Seconds collecting;
  Seconds foreach_call;
  Seconds zeroing;
  Seconds fused_call;
};

const Fields<StepTimes>& step_fields() {
  static const Fields<StepTimes> fields = {
      "step",
      "of PyTorch's thread in an optimizer's step, for a tensor",
      {field("collecting", &StepTimes::collecting, "its lists of tensors", {}, required),
       field("foreach_call", &StepTimes::foreach_call, "a call for all tensors", {}, required),
       field("zeroing", &StepTimes::zeroing, "of gradients", {}, required),
       field("fused_call", &StepTimes::fused_call, "the one of a fused optimizer", {}, required)}};
  return fields;
}

/// An optimizer, and what its times are made of.
struct WrittenOptimizer {
  OptimizerKind kind;
  int foreach_calls = 0;
  std::optional<Seconds> apex;
};

const Fields<WrittenOptimizer>& optimizer_kind_fields() {
  using Written = WrittenOptimizer;
  const auto of_kind = [](Field<OptimizerKind> field) {
    return part(&Written::kind, std::move(field));
  };
  const auto on_host = [&](Field<HostStep> field) {
    return of_kind(part(&OptimizerKind::on_host, std::move(field)));
  };
  const auto bytes = at_least(0.0);
  static const Fields<Written> fields = {
      "optimizer_kind",
      "what an optimizer's step costs; bytes are of a parameter",
      {of_kind(field("name", &OptimizerKind::name, "its own", {}, required)),
       of_kind(
           field("bytes", &OptimizerKind::bytes_per_parameter, "by its kernels", bytes, required)),
       of_kind(field("fused_bytes", &OptimizerKind::fused_bytes, "by one kernel", bytes, required)),
       of_kind(field("graph_bytes", &OptimizerKind::graph_bytes, "in TensorFlow's graph", bytes,
                     required)),
       of_kind(field("state_bytes", &OptimizerKind::state_bytes, "kept between steps", at_least(0),
                     required)),
       of_kind(field("list_bytes", &OptimizerKind::list_bytes, "in lists of a foreach step",
                     at_least(0), required)),
       field("foreach_calls", &Written::foreach_calls, "of a step", at_least(0)),
       of_kind(field("loop", &OptimizerKind::loop, "a tensor's step one by one")),
       field("apex", &Written::apex, "a tensor's step in apex, in place of PyTorch's"),
       on_host(field("host_bytes", &HostStep::bytes, "by a host's operations", bytes, required)),
       on_host(field("host_fused_bytes", &HostStep::fused_bytes, "in one pass", bytes, required)),
       on_host(field("deepspeed", &HostStep::deepspeed, "which has a kernel for it", {}, required)),
       of_kind(
           field("source", &OptimizerKind::source, "where these are known from", {}, required))}};
  return fields;
}

OptimizerKind optimizer_of(const WrittenOptimizer& written, const StepTimes& step) {
  OptimizerKind kind = written.kind;
  kind.on_host.state_bytes = kind.state_bytes;
  if (written.apex) {
    kind.loop = kind.foreach_step = kind.fused = *written.apex;
    return kind;
  }
  const Seconds begun = step.zeroing + step.collecting;
  kind.foreach_step = begun + static_cast<double>(written.foreach_calls) * step.foreach_call;
  kind.fused = begun + step.fused_call;
  return kind;
}

/// All of a file.
struct WrittenHosts {
  std::vector<Framework> frameworks;
  StepTimes step;
  std::vector<WrittenOptimizer> optimizers;
};

const Fields<WrittenHosts>& hosts_fields() {
  static const Fields<WrittenHosts> fields = {
      "hosts_file",
      "what launching threads take",
      {inside("frameworks", &WrittenHosts::frameworks, framework_fields, "the default first",
              required),
       inside("step", &WrittenHosts::step, step_fields, "of PyTorch's optimizers", required),
       inside("optimizers", &WrittenHosts::optimizers, optimizer_kind_fields, "by name",
              required)}};
  return fields;
}

}  // namespace

Section hosts_section() {
  return hosts_fields().section();
}

HostTables read_hosts(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.hosts/1");
  WrittenHosts written;
  hosts_fields().read_all(std::move(map), written);
  constexpr double clipping_calls = 2;  // a norm of each, and a scaling
  HostTables tables;
  tables.frameworks = std::move(written.frameworks);
  tables.optimizers.reserve(written.optimizers.size());
  for (const WrittenOptimizer& optimizer : written.optimizers) {
    tables.optimizers.push_back(optimizer_of(optimizer, written.step));
  }
  tables.clipping = written.step.collecting + clipping_calls * written.step.foreach_call;
  return tables;
}

const HostTables& shipped_hosts() {
  static const HostTables tables = read_hosts(loaded_yaml((data_folder() / hosts_file).string()));
  return tables;
}

}  // namespace gradwire::config
