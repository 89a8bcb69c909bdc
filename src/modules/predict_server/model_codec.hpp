#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "modules/predict_server/model.hpp"

namespace koordlet::predict {

/// What a model has learned, as one row of a few KB: a version byte, then CPU, then memory, numbers
/// little endian, empty buckets and unknown slots left out. Forecasts whose time has not come yet
/// are not part of it. Pure.
std::string encode_model(const Model& model);
/// Into a fresh model. kNotSupported: another version of the format. kParse: not a whole row, or
/// numbers that learning cannot have left; the model is not to be used then. A row of another
/// window keeps what was seen; the margins and scores, which belong to a window, begin anew.
Result<void> decode_model(std::string_view row, Model& model);

}  // namespace koordlet::predict
