#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace gradwire {
namespace {

/// Two A100 at one processor, without NVLinks; `inside` goes into the first GPU.
std::string xml(const std::string& inside = "") {
  return "<system version=\"1\">\n<cpu numaid=\"0\" vendor=\"AuthenticAMD\">\n"
         "<pci busid=\"0:1:0.0\" class=\"0x0302\" device=\"0x20b0\" link_speed=\"16 GT/s\" "
         "link_width=\"16\"><gpu dev=\"0\" rank=\"0\">\n" +
         inside +
         "</gpu></pci>\n<pci busid=\"0:2:0.0\" class=\"0x0302\" device=\"0x20b0\" "
         "link_speed=\"16 GT/s\" link_width=\"16\"><gpu dev=\"1\" rank=\"1\"/></pci>\n"
         "</cpu></system>\n";
}

}  // namespace

TEST_CASE("NCCL's XML becomes a node that check accepts and show understands", "[cli][import]") {
  const Workplace place("nccl");
  place.write("box.xml", xml());
  const auto run = place.run("import nccl-topo box.xml -o box.yaml");
  CHECK(run.code == 0);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::ContainsSubstring("assumed: 0:1:0.0, 0:2:0.0: no usable NVLinks"));
  CHECK_THAT(place.text("box.yaml"), Catch::ContainsSubstring("# 0:1:0.0, 0:2:0.0: no usable"));
  CHECK_THAT(place.text("box.yaml"), Catch::ContainsSubstring("name: box\n"));
  CHECK(place.run("check box.yaml").code == 0);
  CHECK_THAT(place.run("show topology box.yaml").out, Catch::ContainsSubstring("gpu1"));
  CHECK(place.run("--quiet import nccl-topo box.xml -o quiet.yaml").err.empty());
}

TEST_CASE("A matrix beside the XML gives the NVLinks that it hides", "[cli][import]") {
  const Workplace place("merge");
  place.write("box.xml", xml());
  place.write("m.txt", "\tGPU0\tGPU1\nGPU0\t X \tNV12\nGPU1\tNV12\t X \n");
  const auto run = place.run("import nccl-topo box.xml --smi m.txt -o box.yaml");
  CHECK(run.code == 0);
  CHECK_THAT(place.text("box.yaml"), Catch::ContainsSubstring("lanes: 12"));
  CHECK_THAT(place.text("box.yaml"), Catch::ContainsSubstring("and nvidia-smi topo -m (m.txt)"));
  place.write("m.txt", "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n");
  const auto other = place.run("import nccl-topo box.xml --smi m.txt -o other.yaml");
  CHECK(other.code == 3);
  CHECK_THAT(other.err, Catch::StartsWith("m.txt: GPU0-GPU1 is SYS in the matrix and PHB in "
                                          "box.xml"));
  CHECK_FALSE(place.has("other.yaml"));
}

TEST_CASE("A bad XML is refused at its place, and nothing is written", "[cli][import]") {
  const Workplace place("badxml");
  place.write("bad.xml", xml("<nvlnk count=\"1\"/>"));
  const auto run = place.run("import nccl-topo bad.xml -o bad.yaml");
  CHECK(run.code == 3);
  CHECK(run.err ==
        "bad.xml:4:1: <nvlnk> inside <gpu>; expected nvlink, c2c; did you mean 'nvlink'?\n");
  CHECK_FALSE(place.has("bad.yaml"));
  CHECK(place.run("import nccl-topo none.xml -o bad.yaml").code == 3);
  // A link that no generation has: what check would refuse is not written.
  place.write("fast.xml", xml("<c2c bw=\"900000\" count=\"1\"/>"));
  const auto fast = place.run("import nccl-topo fast.xml -o fast.yaml");
  CHECK(fast.code == 3);
  CHECK_THAT(fast.err, Catch::ContainsSubstring("is 900 GB/s, more than one lane of any NVLink"));
  CHECK_FALSE(place.has("fast.yaml"));
}

}  // namespace gradwire
