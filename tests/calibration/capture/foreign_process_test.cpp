// What other people's processes do to a recorder: signals, forks, no memory, others' files.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "calibration/capture/inject/nvtx_handler.hpp"
#include "calibration/capture/inject/process_facts.hpp"
#include "tests/calibration/capture/recording_place.hpp"
#include "tests/catch.hpp"

using namespace gradwire::calibration;

namespace {

Recorder* signalled = nullptr;
std::atomic<std::size_t> signals = 0;

void mark_in_handler(int /*signal*/) {
  signals.fetch_add(1);
  signalled->mark(0, "from a handler");
}

thread_local bool without_memory = false;

}  // namespace

void* operator new(std::size_t size) {
  void* memory = without_memory ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return without_memory ? nullptr : std::malloc(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

TEST_CASE("a handler of a signal may mark while its thread is within the recorder", "[foreign]") {
  constexpr std::size_t signals_wanted = 1000;
  const RecordingPlace place("signals");
  Recorder recorder(place.settings(), {});
  signalled = &recorder;
  signals = 0;
  struct sigaction action {};
  action.sa_handler = mark_in_handler;
  struct sigaction before {};
  sigaction(SIGUSR2, &action, &before);
  std::atomic<bool> done = false;
  std::size_t ranges = 0;
  std::thread worker([&] {
    for (; signals < signals_wanted; ++ranges) {
      recorder.push(0, "r", 0);
      recorder.pop(0);
    }
    done = true;
    while (done) std::this_thread::yield();  // until the last signal was sent
  });
  const pthread_t target = worker.native_handle();
  while (!done) {
    pthread_kill(target, SIGUSR2);
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  done = false;
  worker.join();
  sigaction(SIGUSR2, &before, nullptr);
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  // Nothing of the file is damaged, and each call of either is there or counted.
  CHECK_FALSE(read.trace.cut_off);
  CHECK(read.cost.dropped_ranges > 0);
  CHECK(read.trace.ranges.size() + read.trace.marks.size() + read.cost.dropped_ranges ==
        ranges + signals);
}

TEST_CASE("without memory nothing is thrown into the program, and the loss is counted",
          "[foreign]") {
  const RecordingPlace place("no_memory");
  Recorder recorder(place.settings(), {});
  std::thread worker([&] {  // its first call makes a ring; one that throws would end us here
    without_memory = true;
    recorder.push(0, "r", 0);
    recorder.mark(0, "m");
    recorder.end(recorder.start(0, "s", 0));
    recorder.pop(0);
    without_memory = false;
    recorder.push(0, "later", 0);
    recorder.pop(0);
  });
  worker.join();
  recorder.finish();
  const Recording read = read_recording(recorder.path());
  CHECK(read.cost.dropped_ranges >= 4);
  CHECK(ranges_named(read.trace, "later").size() == 1);
}

TEST_CASE("a file is its owner's alone, and never one that is there", "[foreign]") {
  const RecordingPlace place("owner");
  const std::string wanted = recording_path(place.settings());
  std::ofstream(wanted) << "somebody's";
  Recorder recorder(place.settings(), {});
  recorder.push(0, "r", 0);
  recorder.pop(0);
  recorder.finish();
  const std::string made = wanted.substr(0, wanted.size() - 4) + "-2.gwr";
  REQUIRE(recorder.path() == made);
  struct stat status {};
  REQUIRE(stat(made.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  CHECK(read_recording(made).trace.ranges.size() == 1);
  CHECK(std::filesystem::file_size(wanted) == 10);
}

TEST_CASE("a link in the file's place is not followed", "[foreign]") {
  const RecordingPlace place("link");
  const std::string target = place.path() + "/target";
  std::filesystem::create_symlink(target, recording_path(place.settings()));
  Recorder recorder(place.settings(), {});
  recorder.push(0, "r", 0);
  recorder.finish();
  CHECK_FALSE(std::filesystem::exists(target));
  CHECK(recorder.path().ends_with("-2.gwr"));
}

TEST_CASE("a file ends at its bound, says so, and is read up to there", "[foreign]") {
  const RecordingPlace place("bound");
  Settings settings = place.settings();
  settings.file_bytes_max = 64 << 10;
  Recorder recorder(settings, {});
  for (int range = 0; range < 20'000; ++range) {
    recorder.push(0, "a range of this process", 0);
    recorder.pop(0);
    if (range % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(12));
  }
  recorder.finish();
  // Beside the bound only the last summary, of less than 500 bytes.
  CHECK(std::filesystem::file_size(recorder.path()) < settings.file_bytes_max + 500);
  const Recording read = read_recording(recorder.path());
  CHECK(read.trace.cut_off);
  CHECK(!read.trace.ranges.empty());
  CHECK(read.trace.ranges.size() < 20'000);
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0] == "the file reached its bound of 65536 bytes: what came later is missing");
}

TEST_CASE("of a command line the program is kept, its words on demand and without secrets",
          "[foreign]") {
  using Words = std::vector<std::string>;
  const Words words{"python3", "train.py", "--token", "abc"};
  CHECK(command_text(words, false) == "python3 (3 words not recorded)");
  CHECK(command_text({"train"}, false) == "train");
  CHECK(command_text({}, true).empty());
  CHECK(command_text(words, true) == "python3 train.py --token ***");
  CHECK(command_text({"a", "--api-key=abc", "--batch", "8"}, true) == "a --api-key=*** --batch 8");
  CHECK(command_text({"env", "HF_TOKEN=abc", "DB_PASSWORD=x=y"}, true) ==
        "env HF_TOKEN=*** DB_PASSWORD=***");
  CHECK(command_text({"a", "https://me:secret@host/path"}, true) == "a https://***@host/path");
  CHECK(command_text({"a", "--use-auth-token", "--lr", "0.1"}, true) ==
        "a --use-auth-token --lr 0.1");
}
