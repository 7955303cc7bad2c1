#include "topologies/importers/smi_matrix.hpp"

#include <string>

#include "sim/core/error.hpp"
#include "tests/catch.hpp"
#include "tests/topologies/files.hpp"

namespace gradwire {
namespace {

using test::cube_mesh;

/// The fixture with the first `from` after `after` replaced.
std::string damaged(const std::string& from, const std::string& to, const std::string& after = "") {
  std::string text = cube_mesh();
  const std::size_t at = text.find(from, text.find(after));
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

void check_refused(const std::string& text, const std::string& message) {
  CHECK_THROWS_MATCHES(read_smi_matrix(text, "m.txt"), ConfigError, Catch::Message(message));
}

TEST_CASE("the matrix is read with affinities and the names of its NIC legend", "[smi]") {
  const SmiMatrix matrix = read_smi_matrix(cube_mesh(), "m.txt");
  REQUIRE(matrix.gpus == 8);
  REQUIRE(matrix.devices.size() == 12);
  CHECK(matrix.devices[8].name == "mlx5_0");
  CHECK(matrix.devices[5].numa == 1);
  CHECK(matrix.devices[5].cpu_affinity == "16-31");
  CHECK(matrix.cells[0][1].nvlinks == 2);
  CHECK(matrix.cells[0][2].nvlinks == 1);
  CHECK(matrix.cells[0][5].path == PathClass::sys);
  CHECK(matrix.cells[8][0].path == PathClass::pix);
  CHECK(matrix.cells[3][8].path == PathClass::phb);
}

TEST_CASE("lost tabs, escapes, text around it and old words do not matter", "[smi]") {
  SECTION("spaces instead of tabs, the header at the margin") {
    const SmiMatrix matrix = read_smi_matrix(
        "$ nvidia-smi topo -m\nGPU0  GPU1  mlx4_0  CPU Affinity\n"
        "GPU0   X   SOC  PHB  0-7\nGPU1  SOC   X   PHB  8-15\nmlx4_0 PHB PHB X\n",
        "m.txt");
    CHECK(matrix.gpus == 2);
    CHECK(matrix.cells[0][1].path == PathClass::sys);
    CHECK(matrix.devices[1].cpu_affinity == "8-15");
  }
  SECTION("doubled tabs: cells are found by words") {
    const SmiMatrix matrix = read_smi_matrix(
        "\t\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \t\tNV2\t0-7\t0\nGPU1\tNV2\t\t X \t8-15\t\t1\n",
        "m.txt");
    CHECK(matrix.cells[0][1].nvlinks == 2);
    CHECK(matrix.devices[0].cpu_affinity == "0-7");
    CHECK(matrix.devices[1].numa == 1);
  }
  SECTION("an underlined header, a blank affinity") {
    const SmiMatrix matrix = read_smi_matrix(
        "\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \t\t0-3\t\tN/A\n",
        "m.txt");
    CHECK(matrix.gpus == 1);
    CHECK(matrix.devices[0].cpu_affinity.empty());
    CHECK(matrix.devices[0].numa == -1);  // a range
  }
}

TEST_CASE("a cut-off matrix is read while every GPU pair is stated", "[smi]") {
  const std::string text = cube_mesh();
  SECTION("the last GPU's row and the NICs' are missing: its column tells") {
    const SmiMatrix matrix = read_smi_matrix(text.substr(0, text.find("\nGPU7") + 1), "m.txt");
    CHECK(matrix.gpus == 8);
    CHECK_FALSE(matrix.devices[7].has_row);
    CHECK(matrix.cells[7][6].nvlinks == 2);
    CHECK(matrix.cells[7][8].path == PathClass::unknown);
  }
  SECTION("two GPUs' rows are missing: nothing tells about the pair") {
    check_refused(text.substr(0, text.find("\nGPU6") + 1),
                  "m.txt:7:1: the matrix is cut off: no row of GPU6 or GPU7; expected one row for "
                  "each GPU");
  }
  SECTION("the last row ends early") {
    check_refused("\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX",
                  "m.txt:3:9: row of GPU1 has 1 cells; expected 2");
  }
}

TEST_CASE("what is not a matrix is refused with its place", "[smi]") {
  check_refused("",
                "m.txt:1:1: no GPU found; expected the matrix that 'nvidia-smi topo -m' prints");
  check_refused("No devices were found\n",
                "m.txt:1:1: no GPU found; expected the matrix that 'nvidia-smi topo -m' prints");
  // Columns in the raw text: "GPU1\tNV2\t X \tNV1": the third cell begins in column 14.
  check_refused(damaged("NV1", "NVX", "\nGPU1"),
                "m.txt:3:14: cell 'NVX' of GPU1-GPU2; expected X, NV#, PIX, PXB, PHB, NODE or SYS");
  check_refused(damaged("PHB", "PH0-115", "\nGPU2"),
                "m.txt:4:38: cell 'PH0-115' of GPU2-NIC0; expected X, NV#, PIX, PXB, PHB, NODE or "
                "SYS");
  check_refused(damaged("NV1", "NV2", "\nGPU2"),
                "m.txt:4:6: GPU2-GPU0 is NV2, but the row of GPU0 has another; expected the same "
                "both ways");
  check_refused(damaged(" X ", "PIX", "\nGPU1"),
                "m.txt:3:10: cell 'PIX' of GPU1-GPU1; expected X on the diagonal and nowhere else");
  check_refused(damaged("SYS", "X", "\nGPU1"),
                "m.txt:3:22: cell 'X' of GPU1-GPU4; expected X on the diagonal and nowhere else");
  check_refused(
      damaged("NV1\t", "", "\nGPU1"),
      "m.txt:3:50: cell '0-15' of GPU1-NIC3; expected X, NV#, PIX, PXB, PHB, NODE or SYS");
  check_refused(damaged("\t0-15", "\tSYS\t0-15", "\nGPU1"),
                "m.txt:3:54: row of GPU1 has too many cells; expected 12");
  check_refused(damaged("GPU3", "GPU2", "\nGPU2"), "m.txt:5:1: second row of GPU2");
  check_refused(damaged("GPU3", "GPU9", "\nGPU2"),
                "m.txt:5:1: row of 'GPU9', which the header does not name; expected one of its 12 "
                "devices; did you mean 'GPU0'?");
  check_refused("\tGPU0\tGPU0\n", "m.txt:1:7: device GPU0 stands twice");
  // "  NIC1: mlx5_1" is the last line but two of 28, its second word begins in column 9.
  check_refused(damaged("NIC1: mlx5_1", "NIC1: mlx5_0"), "m.txt:26:9: device mlx5_0 stands twice");
}

}  // namespace
}  // namespace gradwire
