#include "sim/validation/series.hpp"

#include "sim/config/data_files.hpp"
#include "sim/validation/single_series.hpp"
#include "sim/validation/training_series.hpp"

namespace gradwire::validation {
namespace {

/// results/reference/NAME.yaml. @param page  "": none.
SeriesEntry training(std::string_view name, std::string_view summary,
                     std::string_view page = training_page) {
  return {name, summary, page,
          [name](const Predict& predict) { return open_training(std::string(name), predict); }};
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
std::span<const SeriesEntry> series_catalogue() {
  static const std::vector<SeriesEntry> catalogue = {
      {"collectives", "published times of single collectives on published clusters",
       "collectives.md", [](const Predict& /*predict*/) { return open_collectives(); }},
      {"collectives_blind", "published times of collectives, written down before predicted", "",
       [](const Predict& /*predict*/) { return open_blind_collectives(); }},
      {"ddpbench", "PyTorch's DDP benchmark on up to 16 V100", "",
       [](const Predict& predict) { return open_ddpbench(predict); }},
      {"single_gpu", "published rates of one GPU against analytic profiles", "",
       [](const Predict& /*predict*/) { return open_single_gpu(); }},
      {"compute", "what analytic profiles are fitted to, fitted again, and rates beyond ResNet-50",
       "", [](const Predict& /*predict*/) { return open_compute(); }},
      training("ddlb", "ddl-benchmarks: seven ways to train on up to 32 RTX 2080 Ti"),
      training("lbsgd22", "LB-SGD against Horovod on 64 RTX 2080 Ti, 10 Gbit/s Ethernet"),
      training("mgwfbp19", "MG-WFBP of INFOCOM 2019 on up to 8 K80, 10 Gbit/s Ethernet"),
      training("onebit", "1-bit Adam against fp16 all-reduce on up to 32 V100"),
      training("kungfu", "KungFu, Horovod and TensorFlow's servers on two DGX-1 over TCP"),
      training("bytesched19", "ByteScheduler on MXNet's servers, up to 64 V100, RDMA"),
      training("byteps19", "BytePS against Horovod on up to 64 V100, RDMA and TCP"),
      training("bagua", "Bagua's algorithms, BytePS, Horovod and DDP on up to 128 V100"),
      training("dgc20", "Deep Gradient Compression on up to 64 RTX 2080 Ti"),
      training("autodist", "AutoDist's strategies, Horovod and tf.distribute on up to 32 T4"),
      training("hvd17", "Horovod's first figures: servers, MPI and NCCL on 16 and 64 Pascal GPUs"),
      training("tfbench", "TensorFlow's benchmarks of 2017 on P100 and K80"),
      training("gtopk19", "gTop-k, top-k and dense all-reduce on up to 32 GPUs, 1 Gbit/s Ethernet"),
      training("dlperf", "DLPerf: ResNet-50 of seven frameworks on up to 32 V100"),
      training("dle", "NVIDIA's examples: ResNet-50 on one DGX-1, DGX-2 or DGX A100"),
      training("fleetx", "PaddlePaddle and Horovod on up to 32 V100"),
      training("lab", "PyTorch DDP over Gloo on up to 8 emulated hosts, our own measurements",
               lab_page),
      training("blind", "published jobs that were predicted before they were looked at", ""),
      training("blind2", "a second blind test: accumulation, GPT-2, servers, bucket sizes", ""),
      training("blind3",
               "a third blind test: PCIe machines, Horovod over TCP and MPI, DDP by release", ""),
      training("blind4", "a fourth blind test: H100, GH200 and B200, FSDP, Megatron, OneFlow, Ray",
               ""),
      training("blind5",
               "a fifth blind test: GPT, MPT and Llama on A100, H100, B200 and GB200, FP8", ""),
      training("blind6",
               "a sixth blind test: H200, H100, B200, H800, A100 and V100 under 12 stacks", ""),
      training("blind7", "a seventh blind test: A10 to H100, TCP and PCIe machines, 20 set-ups",
               ""),
      training("blind8", "an eighth blind test: FSDP on up to 256 A100 and H100, V100, RTX 4090",
               ""),
      training("blind9",
               "a ninth blind test: FSDP, ZeRO, DDP, BytePS beside each other, T4 to GB300", ""),
      training("blind10", "a tenth blind test: ZeRO, FSDP, DDP and Horovod, GTX 1080 Ti to H100",
               ""),
      training("blind11", "an eleventh blind test: two ways on the same 2 to 128 GPUs, K80 to A100",
               ""),
      training("blind12",
               "a twelfth blind test: MI250 and GH200 on Slingshot, RTX 5090, RTX 4090, T4, K80",
               ""),
      training("blind13",
               "a thirteenth blind test: DiLoCo, local SGD, FSDP, buckets on L40S to B200, Gloo",
               ""),
      training("blind14",
               "a fourteenth blind test: buckets, FSDP2, ZeRO, DDP on T4 to H200, PCIe to 1 GbE",
               ""),
      training("blind15",
               "a fifteenth blind test: DDP, FSDP, ZeRO, Horovod on K80 to GB300, 2 to 32 GPUs",
               ""),
      training("blind16",
               "a sixteenth blind test: Horovod, DDP, FSDP, ZeRO on T4 to GB300, 2 to 512 GPUs",
               ""),
      training("blind17",
               "a seventeenth blind test: DDP, FSDP, Horovod, apex on T4 to H100, 2 to 400 GPUs",
               ""),
      training("alcf_r50", "DDP on two nodes of 4 A100, Slingshot and TCP"),
      training("llm", "Llama 3 8B and others under FSDP and ZeRO on up to 128 GPUs", llm_page),
      training("memory", "What a GPU keeps of language models under FSDP and ZeRO", llm_page),
      training("memory_h100", "What one H100 keeps of 35 models, by names alone", llm_page),
  };
  return catalogue;
}

std::string reference_file(const std::string& name) {
  return (config::data_folder() / "results" / "reference" / name).string();
}

}  // namespace gradwire::validation
