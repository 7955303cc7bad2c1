#pragma once

#include <optional>
#include <string>

#include "calibration/capture/inject/cupti_session.hpp"
#include "tests/calibration/capture/mock_cupti.hpp"
#include "tests/calibration/capture/recording_place.hpp"

namespace gradwire::calibration {

/// A recorder and a session on the mock, as the program's start makes them.
class MockRun {
 public:
  MockRun(const std::string& name, const Settings& settings)
      : place(name), recorder(in(place, settings), {}) {
    Recorder::install(&recorder);
  }
  explicit MockRun(const std::string& name) : MockRun(name, Settings()) {}
  ~MockRun() { recorder.finish(); }  // before the session goes
  MockRun(const MockRun&) = delete;
  MockRun& operator=(const MockRun&) = delete;

  /// Starts the session; what is wrong is in `why`.
  bool start() {
    session.emplace(mock.api(), recorder);
    if (!session->start(why)) return false;
    recorder.attach(&*session);
    return true;
  }
  Recording finish() {
    recorder.finish();
    return read_recording(recorder.path());
  }

  MockCupti mock;
  RecordingPlace place;
  Recorder recorder;
  std::optional<CuptiSession> session;
  std::string why;

 private:
  static Settings in(const RecordingPlace& place, Settings settings) {
    settings.folder = place.path();
    return settings;
  }
};

}  // namespace gradwire::calibration
