#include "sim/config/collective/host_library_constants_yaml.hpp"

namespace gradwire::config {

void read_mpi_constants(Constants& from, MpiConstants& to) {
  from.read("entry", "us", to.entry);
  from.read("long_message", "us", to.long_message);
  from.read("copy_per_byte", "ns", to.copy_per_byte);
  from.read("frame", "B", to.frame);
  from.read("eager_max", "KiB", to.eager_max);
  from.read("kernel_segment", "KiB", to.kernel_segment);
  from.read("ring_segment", "MiB", to.ring_segment);
}

void read_gloo_constants(Constants& from, GlooConstants& to) {
  from.read("step", "us", to.step);
  from.read("worker_threads", "", to.worker_threads);
  from.read("segment_max", "MiB", to.segment_max);
  from.read("loopback", "GB/s", to.loopback);
}

MpiConstants shipped_mpi() {
  return shipped_set("mpi", read_mpi_constants);
}

GlooConstants shipped_gloo() {
  return shipped_set("gloo", read_gloo_constants);
}

}  // namespace gradwire::config
