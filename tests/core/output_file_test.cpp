#include "sim/core/output_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
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

TEST_CASE("A file is written whole and replaces the former one", "[core][file]") {
  const Folder folder("replace");
  write_file(folder / "x.json", "first, a long one");
  write_file(folder / "x.json", "second");
  CHECK(content(folder / "x.json") == "second");
  CHECK(folder.entries() == 1);
}

TEST_CASE("A file that is replaced keeps who may read it", "[core][file]") {
  const Folder folder("mode");
  const fs::perms own = fs::perms::owner_read | fs::perms::owner_write;
  write_file(folder / "x.json", "first");
  fs::permissions(folder / "x.json", own);
  write_file(folder / "x.json", "second");
  CHECK(content(folder / "x.json") == "second");
  CHECK(fs::status(folder / "x.json").permissions() == own);
}

TEST_CASE("A missing folder is an error and nothing is left behind", "[core][file]") {
  const Folder folder("missing");
  const std::string path = folder / "no/x.json";
  CHECK_THROWS_WITH(write_file(path, "text"),
                    "cannot write '" + path + "': No such file or directory");
  CHECK(folder.entries() == 0);
}

TEST_CASE("A target that cannot be replaced keeps its content and no temporary stays",
          "[core][file]") {
  const Folder folder("folder");
  fs::create_directory(folder / "x.json");
  CHECK_THROWS_WITH(write_file(folder / "x.json", "text"),
                    Catch::ContainsSubstring("cannot write"));
  CHECK(folder.entries() == 1);
}

TEST_CASE("A link is followed, its target replaced", "[core][file]") {
  const Folder folder("link");
  write_file(folder / "real.json", "old");
  fs::create_symlink(folder / "real.json", folder / "link.json");
  write_file(folder / "link.json", "new");
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(content(folder / "real.json") == "new");
}

TEST_CASE("A link to a file that is not there yet makes the file, not another link",
          "[core][file]") {
  const Folder folder("dangling");
  fs::create_symlink("real.json", folder / "link.json");
  write_file(folder / "link.json", "new");
  CHECK(fs::is_symlink(folder / "link.json"));
  CHECK(content(folder / "real.json") == "new");
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  CHECK_THROWS_WITH(write_file(folder / "a", "x"),
                    Catch::ContainsSubstring("Too many levels of symbolic links"));
  CHECK(folder.entries() == 4);
}

TEST_CASE("A new file has 0666 less the umask, and the umask stays", "[core][file]") {
  const Folder folder("umask");
  const mode_t before = ::umask(027);
  write_file(folder / "x.json", "text");
  CHECK(::umask(before) == 027);
  struct stat found {};
  REQUIRE(::stat((folder / "x.json").c_str(), &found) == 0);
  CHECK((found.st_mode & 07777U) == 0640);
}

TEST_CASE("Nobody's file or link of a temporary's former name is touched", "[core][file]") {
  const Folder folder("planted");
  write_file(folder / "precious", "mine");
  // The name that a temporary of this process had before it could not be guessed.
  fs::create_symlink("precious", folder / ("x.json.tmp" + std::to_string(::getpid())));
  write_file(folder / "x.json", "text");
  CHECK(content(folder / "precious") == "mine");
  CHECK(folder.entries() == 3);
}

TEST_CASE("Where a disk takes no more, the former file stays and no temporary is left",
          "[core][file]") {
  const Folder folder("limit");
  write_file(folder / "x.json", "former");
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit small = before;
  small.rlim_cur = 4096;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_THROWS_WITH(write_file(folder / "x.json", std::string(100'000, 'x')),
                    "cannot write '" + std::string(folder / "x.json") + "': File too large");
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  (void)std::signal(SIGXFSZ, handler);
  CHECK(content(folder / "x.json") == "former");
  CHECK(folder.entries() == 1);
}

TEST_CASE("A name as long as a file system takes is written", "[core][file]") {
  const Folder folder("long");
  const std::string name(255, 'n');
  write_file(folder / name, "text");
  CHECK(content(folder / name) == "text");
}

TEST_CASE("What is no regular file is written in place, a descriptor by its number",
          "[core][file]") {
  const Folder folder("fd");
  const int file = ::open((folder / "x").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  write_file("/dev/fd/" + std::to_string(file), "first ");
  write_file("/dev/fd/" + std::to_string(file), "second");
  ::close(file);
  CHECK(content(folder / "x") == "first second");
  CHECK_THROWS_WITH(write_file("/dev/full", "text"),
                    "cannot write '/dev/full': No space left on device");
}

}  // namespace
}  // namespace gradwire
