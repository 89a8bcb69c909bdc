#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include "net/client_connection.hpp"
#include "net/http_client.hpp"

namespace koordlet::net {

/// The connections of one HttpClient, in use and kept. Leases keep it alive. One thread.
class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  /// A connection in use: its end closes it, unless it was given back.
  class Lease {
   public:
    Lease(std::shared_ptr<ClientPool> pool,
          std::shared_ptr<ClientConnection> connection,
          bool reused);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ClientConnection& operator*() const { return *connection_; }
    ClientConnection* operator->() const { return connection_.get(); }
    bool reused() const { return reused_; }
    void give_back();  ///< fit for another request

   private:
    std::shared_ptr<ClientPool> pool_;
    std::shared_ptr<ClientConnection> connection_;
    std::uint64_t generation_;
    bool reused_;
    bool given_back_ = false;
  };

  ClientPool(boost::asio::any_io_executor ex,
             HttpEndpoint endpoint,
             std::shared_ptr<TlsContext> tls,
             HttpClient::Limits limits);

  /// A kept connection that is still good, else a new one; `fresh`: a new one.
  static boost::asio::awaitable<Result<std::unique_ptr<Lease>>> take(
      std::shared_ptr<ClientPool> pool, bool fresh);
  void set_tls(std::shared_ptr<TlsContext> tls);
  void close_kept();
  void shut();  ///< closes all; what is in progress ends with kIo

  const HttpEndpoint& endpoint() const { return endpoint_; }
  const HttpClient::Limits& limits() const { return limits_; }
  HttpClient::Stats& counters() { return stats_; }
  HttpClient::Stats stats() const;

 private:
  std::unique_ptr<Lease> take_kept();
  void keep(std::shared_ptr<ClientConnection> connection);
  void forget(const ClientConnection* connection);

  boost::asio::any_io_executor ex_;
  HttpEndpoint endpoint_;
  std::shared_ptr<TlsContext> tls_;
  HttpClient::Limits limits_;
  HttpClient::Stats stats_;
  std::set<ClientConnection*> in_use_;
  std::vector<std::shared_ptr<ClientConnection>> kept_;  ///< the longest idle first
  std::uint64_t generation_ = 0;                         ///< of the credentials
  bool shut_ = false;
};

}  // namespace koordlet::net
