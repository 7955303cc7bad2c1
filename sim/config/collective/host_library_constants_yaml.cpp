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
}

MpiConstants shipped_mpi() {
  Constants from = Constants::shipped("mpi", "mpi");
  MpiConstants constants;
  read_mpi_constants(from, constants);
  from.finish();
  return constants;
}

GlooConstants shipped_gloo() {
  Constants from = Constants::shipped("gloo", "gloo");
  GlooConstants constants;
  read_gloo_constants(from, constants);
  from.finish();
  return constants;
}

}  // namespace gradwire::config
