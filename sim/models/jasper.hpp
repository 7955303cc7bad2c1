#pragma once

#include "sim/models/model.hpp"

namespace gradwire {

// Jasper 10x5 with dense residuals (Li et al., arXiv 1904.03288), which reads speech, as NVIDIA's
// DeepLearningExamples (PyTorch/SpeechRecognition/Jasper: jasper/model.py, configs/jasper10x5dr_*)
// train it on LibriSpeech, with masked convolutions. Options: sequence_length (1680 frames of 10
// ms: the longest utterance, 16.7 s, padded to 16), classes (29: the letters, space, apostrophe,
// blank).
[[nodiscard]] ModelDescription jasper(const ModelOptions& options);

}  // namespace gradwire
