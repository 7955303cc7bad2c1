#include <memory>
#include <string>
#include <vector>

#include "calibration/capture/bench/arguments.hpp"
#include "calibration/capture/bench/codec.hpp"
#include "calibration/capture/bench/commands.hpp"
#include "calibration/capture/bench/device.hpp"
#include "calibration/capture/bench/progress.hpp"
#include "calibration/capture/bench/samples.hpp"
#include "calibration/capture/common/whole_file.hpp"

namespace gradwire::calibration {
namespace {

CallCounts counts_for(std::int64_t elements) {
  constexpr std::int64_t large = 16LL << 20;
  return elements < large ? CallCounts{5, 50} : CallCounts{3, 20};
}

template <class Call>
void write_times(JsonWriter& json, const char* name, const Stream& stream, const CallCounts& counts,
                 const Call& call) {
  json.key(name).begin_object();
  write_summary(json, summarise(time_calls(stream, counts, call)));
  json.member("pipelined_us", time_pipelined(stream, counts, call)).end_object();
}

void write_row(JsonWriter& json, const std::string& name, std::int64_t elements, int rank) {
  CodecOptions options;
  options.elements = static_cast<std::size_t>(elements);
  options.rank = rank;
  const std::unique_ptr<Codec> codec = make_codec(name, options);
  const Stream stream;
  const CallCounts counts = counts_for(elements);
  json.begin_object().member("elements", elements);
  write_times(json, "encode", stream, counts, [&] { codec->encode(stream.get()); });
  write_times(json, "decode", stream, counts, [&] { codec->decode(stream.get()); });
  json.end_object();
}

std::string settings_of(const std::string& name, int rank) {
  if (name == "powersgd" || name == "acp_sgd") return "rank " + std::to_string(rank);
  if (name == "qsgd") return "64 levels, int8";
  if (name == "topk" || name == "ef_topk" || name == "dgc" || name == "randomk") {
    return "density 0.1 %";
  }
  return "";
}

}  // namespace

int run_compressors(const std::vector<std::string>& words) {
  const Arguments arguments(
      {{"--compressors", "all", "names, or all"},
       {"--elements", "64KiB:64MiB:x2", "numbers of fp32 elements, 1Ki = 1024"},
       {"--rank", "4", "of low-rank factors"},
       {"--gpu", "0", "index"},
       {"--output", "compressors.json", "file"}},
      words);
  const std::vector<std::string> names = arguments.choices("--compressors", codec_names());
  const std::vector<std::int64_t> sizes = arguments.sizes("--elements");
  const int rank = static_cast<int>(arguments.whole("--rank", 1));
  const int gpu = static_cast<int>(arguments.whole("--gpu", 0));
  static_cast<void>(require_devices());
  GRADWIRE_CUDA_CHECK(cudaSetDevice(gpu));

  Progress progress(static_cast<int>(names.size() * sizes.size()));
  JsonWriter json;
  begin_record(json, "gradwire.bench.compressors/1");
  json.member("device", "gpu")
      .member("implementation", "kernels")
      .member("memory_bandwidth_bytes_per_s", device_info(gpu).memory_bandwidth);
  json.key("tables").begin_list();
  for (const std::string& name : names) {
    if (interrupted()) break;
    json.begin_object()
        .member("compressor", name)
        .member("settings", settings_of(name, rank))
        .key("rows")
        .begin_list();
    for (const std::int64_t elements : sizes) {
      progress.step(name + ", " + std::to_string(elements) + " elements");
      write_row(json, name, elements, rank);
      if (interrupted()) break;
    }
    json.end_list().end_object();
  }
  json.end_list().end_object();
  write_whole_file(arguments.text("--output"), json.text());
  return interrupted() ? exit_interrupted : exit_done;
}

}  // namespace gradwire::calibration
