#pragma once

#include <string>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include "base/result.hpp"

namespace koordlet::k8s {

/// One answer to a LIST, taken apart.
struct ListPage {
  std::string resource_version;   ///< "" from a kubelet
  std::string continue_token;     ///< "" on the last page
  std::string api_version, kind;  ///< of the items: "v1", "Pod"; "" when the list does not say
  boost::json::array items;       ///< objects only
};
/// kParse: not a list. `items: null` is how Go writes an empty one.
Result<ListPage> take_page(boost::json::value body);

/// Items of a list carry neither kind nor apiVersion: gives them those of the list.
void give_type(boost::json::value& item, const ListPage& page);

}  // namespace koordlet::k8s
