#include "k8s/kubelet_client.hpp"

#include <utility>

#include <fmt/format.h>

#include "k8s/fields.hpp"
#include "k8s/list_page.hpp"

namespace koordlet::k8s {
namespace asio = boost::asio;
namespace {

ApiClient::Options client_options(const KubeletClient::Options& options) {
  ApiClient::Options out;
  out.http.connect_timeout = options.timeout;
  out.http.request_timeout = options.timeout;
  out.http.head_timeout = options.timeout;
  out.http.max_body = options.max_body;
  // It is polled: the next poll is the retry.
  out.max_retry_after = std::chrono::seconds{-1};
  return out;
}

void read_options(const Fields& config, std::map<std::string, std::string>& into) {
  const auto options = config.object("cpuManagerPolicyOptions");
  if (!options.value) return;
  for (const auto& member : options.value->raw()) {
    if (member.value().is_string()) {
      into.emplace(member.key(), member.value().get_string());
    } else {
      options.value->refuse(member.key(), member.value(), "text");
    }
  }
}

}  // namespace

Result<KubeletConfig> decode_configz(const json::value& body) {
  if (!body.is_object()) {
    return Error{Errc::kParse, fmt::format("configz: {}: expected an object", shown(body))};
  }
  Refusals refusals{"configz"};
  const Fields root{body.get_object(), "", refusals, KeyCase::kAny};
  const auto config = root.object("kubeletconfig");
  if (!config.value) return Error{Errc::kParse, "configz: kubeletconfig: expected an object"};
  KubeletConfig out;
  out.cpu_manager_policy = config.value->text("cpuManagerPolicy").value;
  out.topology_manager_policy = config.value->text("topologyManagerPolicy").value;
  out.topology_manager_scope = config.value->text("topologyManagerScope").value;
  out.reserved_system_cpus = config.value->text("reservedSystemCPUs").value;
  read_options(*config.value, out.cpu_manager_policy_options);
  out.faults = refusals.take();
  return out;
}

struct KubeletClient::Impl {
  Impl(asio::any_io_executor ex, ApiAccess access, const Options& options, const Clock& clock)
      : api{std::move(ex), std::move(access), client_options(options), clock} {}
  asio::awaitable<Result<std::vector<json::value>>> pods();
  asio::awaitable<Result<KubeletConfig>> configz();
  ApiClient api;
};

asio::awaitable<Result<std::vector<json::value>>> KubeletClient::Impl::pods() {
  ApiCall call;
  call.path = "/pods/";
  auto answer = co_await api.call(std::move(call));
  if (!answer) co_return wrap("kubelet", answer.error());
  if (!answer->ok()) {
    const bool denied = answer->status == 401 || answer->status == 403;
    co_return Error{denied ? Errc::kDenied : Errc::kIo,
                    fmt::format("kubelet: {}: /pods/: {}", api.server(), answer->problem())};
  }
  auto page = take_page(std::move(answer->body));
  if (!page) co_return wrap("kubelet: /pods/", page.error());
  std::vector<json::value> out;
  out.reserve(page->items.size());
  for (auto& item : page->items) {
    give_type(item, *page);
    out.push_back(std::move(item));
  }
  co_return out;
}

asio::awaitable<Result<KubeletConfig>> KubeletClient::Impl::configz() {
  ApiCall call;
  call.path = "/configz";
  auto answer = co_await api.call(std::move(call));
  if (!answer) co_return wrap("kubelet", answer.error());
  if (!answer->ok()) {
    KubeletConfig unknown;
    unknown.unknown_because = fmt::format("/configz: {}", answer->problem());
    co_return unknown;
  }
  co_return decode_configz(answer->body);
}

KubeletClient::KubeletClient(asio::any_io_executor ex,
                             ApiAccess access,
                             Options options,
                             const Clock& clock)
    : impl_{std::make_unique<Impl>(std::move(ex), std::move(access), options, clock)} {}

KubeletClient::~KubeletClient() = default;

Result<void> KubeletClient::open() { return impl_->api.open(); }

asio::awaitable<Result<std::vector<json::value>>> KubeletClient::pods() { return impl_->pods(); }

asio::awaitable<Result<KubeletConfig>> KubeletClient::configz() { return impl_->configz(); }

const ApiClient::Health& KubeletClient::health() const { return impl_->api.health(); }

bool EmptyGuard::believe(std::size_t size) {
  if (size != 0) {
    empties_ = 0;
    return true;
  }
  // Stays at the bound: a node that is really empty for days is believed each time.
  if (empties_ < needed_) ++empties_;
  return empties_ >= needed_;
}

}  // namespace koordlet::k8s
