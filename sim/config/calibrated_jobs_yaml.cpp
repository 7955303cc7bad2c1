#include "sim/config/calibrated_jobs_yaml.hpp"

#include <utility>

#include "sim/config/yaml/fields.hpp"

namespace gradwire::config {
namespace {

const Fields<CalibratedJob>& job_fields() {
  using Job = CalibratedJob;
  static const Fields<Job> fields = {
      "calibrated_jobs",
      "a measured job",
      {{{"profile", required, "its file"},
        [](YamlMap& map, Job& job) {
          job.profile = map.require<std::string>("profile");
          job.where = map.where();
        }},
       field("gpus", &Job::gpus, "that it ran on", at_least(1), required),
       field("iteration", &Job::iteration, "the median", above(Seconds{0}), required),
       field("iterations", &Job::iterations, "that were timed", at_least(1), required)}};
  return fields;
}

const Fields<CalibratedJobs>& jobs_fields() {
  using Jobs = CalibratedJobs;
  static const Fields<Jobs> fields = {
      "calibrated_file",
      "what `gradwire calibrate fit` leaves for `validate --calibrated`; files beside it",
      {field("node", &Jobs::node, "the machine's file", {}, "none"),
       field("collectives", &Jobs::collectives, "the file of its collectives' times", {}, "none"),
       field("compressor_costs", &Jobs::compressor_costs, "files of coding times"),
       inside("jobs", &Jobs::jobs, job_fields, "that were measured on it", required)}};
  return fields;
}

}  // namespace

Section calibrated_section() {
  return jobs_fields().section();
}

CalibratedJobs read_calibrated_jobs(const YamlValue& document) {
  YamlMap map(document);
  map.require_schema("gradwire.calibrated/1");
  CalibratedJobs read;
  jobs_fields().read_all(std::move(map), read);
  return read;
}

}  // namespace gradwire::config
