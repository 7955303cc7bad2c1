#include "sim/report/output_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/catch.hpp"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

/// An empty folder, removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / ("gradwire_output_" + name)) {
    fs::remove_all(path_);
    fs::create_directory(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] fs::path operator/(const std::string& file) const { return path_ / file; }
  [[nodiscard]] auto entries() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("A file is written whole and replaces the former one", "[report][file]") {
  const Folder folder("replace");
  write_file(folder / "x.json", "first, a long one");
  write_file(folder / "x.json", "second");
  CHECK(content(folder / "x.json") == "second");
  CHECK(folder.entries() == 1);
}

TEST_CASE("A file that is replaced keeps who may read it", "[report][file]") {
  const Folder folder("mode");
  const fs::perms own = fs::perms::owner_read | fs::perms::owner_write;
  write_file(folder / "x.json", "first");
  fs::permissions(folder / "x.json", own);
  write_file(folder / "x.json", "second");
  CHECK(content(folder / "x.json") == "second");
  CHECK(fs::status(folder / "x.json").permissions() == own);
}

TEST_CASE("A missing folder is an error and nothing is left behind", "[report][file]") {
  const Folder folder("missing");
  const std::string path = folder / "no/x.json";
  CHECK_THROWS_WITH(write_file(path, "text"),
                    "cannot write '" + path + "': No such file or directory");
  CHECK(folder.entries() == 0);
}

TEST_CASE("A target that cannot be replaced keeps its content and no temporary stays",
          "[report][file]") {
  const Folder folder("folder");
  fs::create_directory(folder / "x.json");
  CHECK_THROWS_WITH(write_file(folder / "x.json", "text"),
                    Catch::ContainsSubstring("cannot write"));
  CHECK(folder.entries() == 1);
}

TEST_CASE("A link is followed, its target replaced", "[report][file]") {
  const Folder folder("link");
  write_file(folder / "real.json", "old");
  fs::create_symlink(folder / "real.json", folder / "link.json");
  write_file(folder / "link.json", "new");
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(content(folder / "real.json") == "new");
}

}  // namespace
}  // namespace gradwire
