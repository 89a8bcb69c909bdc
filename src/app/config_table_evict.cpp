#include <optional>

#include "app/config_table.hpp"

namespace koordlet::app {
namespace {

#define KOORDLET_QOS(member) KOORDLET_AT(qos.policy.member)

void add_shared(std::vector<Setting>& out) {
  out.push_back(choice<std::optional<bool>>(
      "qos.evict.include_kube_best_effort",
      KOORDLET_QOS(evict.include_kube_best_effort),
      {{"auto", std::nullopt}, {"yes", true}, {"no", false}},
      "BestEffort pods of Kubernetes without the label too; auto: only without a NodeSLO"));
  out.push_back(boolean("qos.evict.require_rescue",
                        KOORDLET_QOS(evict.require_rescue),
                        "nobody is evicted when all of them together would not be enough"));
  out.push_back(number("qos.evict.node_max_evictions",
                       KOORDLET_QOS(evict.node_max_evictions),
                       1,
                       1000,
                       "most on this node in 10 minutes, by all rules together"));
  out.push_back(number("qos.evict.owner_max_evictions",
                       KOORDLET_QOS(evict.owner_max_evictions),
                       1,
                       100,
                       "most of one owner in 10 minutes, then it is left alone"));
  out.push_back(duration("qos.evict.release_grace",
                         KOORDLET_QOS(evict.release_grace_seconds),
                         kSecond,
                         10 * kMinute,
                         "how long what a leaving pod holds counts as good as free"));
  out.push_back(duration("qos.evict.cpu_cooldown",
                         KOORDLET_QOS(evict.cpu_cooldown_seconds),
                         0,
                         kHour,
                         "pause of the CPU rules after the start and after a victim"));
  out.push_back(duration("qos.evict.memory_cooldown",
                         KOORDLET_QOS(evict.memory_cooldown_seconds),
                         0,
                         kHour,
                         "pause of the memory rules after the start and after a victim"));
  out.push_back(duration("qos.evict.cpu_window",
                         KOORDLET_QOS(evict.cpu_window_seconds),
                         kSecond,
                         kHour,
                         "over which the CPU rules average"));
  out.push_back(optional_number("qos.evict.priority_threshold",
                                KOORDLET_QOS(evict.priority_threshold),
                                0,
                                9999,
                                "highest pod priority that cpu_evict and memory_evict take"));
  out.push_back(optional_number("qos.evict.allocatable_priority_threshold",
                                KOORDLET_QOS(evict.allocatable_priority_threshold),
                                0,
                                7999,
                                "highest pod priority that the allocatable rules count and take"));
}

template <class Access>
void add_allocatable(std::vector<Setting>& out,
                     const std::string& section,
                     const std::string& resource,
                     Access at) {
  out.push_back(boolean(
      section + ".enable",
      [at](auto& c) -> auto& { return at(c).enable; },
      "evict pods while batch, mid or plain requests of " + resource +
          " exceed what the node offers; the NodeSLO may switch it on as well"));
  out.push_back(number(
      section + ".threshold_percent",
      [at](auto& c) -> auto& { return at(c).threshold_percent; },
      1,
      1000,
      "requests in percent of the node's allocatable above which it starts"));
  out.push_back(number(
      section + ".lower_percent",
      [at](auto& c) -> auto& { return at(c).lower_percent; },
      0,
      999,
      "percent at which it has done enough"));
}

void add_memory_rules(std::vector<Setting>& out) {
  out.push_back(boolean("qos.memory_evict.enable",
                        KOORDLET_QOS(memory_evict.enable),
                        "kubernetes source: evict BE pods through the API while the node's memory "
                        "is short; the NodeSLO may switch it on as well"));
  out.push_back(boolean("qos.memory_evict.by_priority",
                        KOORDLET_QOS(memory_evict.by_priority),
                        "the same for pods with the label koordinator.sh/eviction-enabled up to "
                        "qos.evict.priority_threshold"));
  out.push_back(number("qos.memory_evict.threshold_percent",
                       KOORDLET_QOS(memory_evict.threshold_percent),
                       1,
                       100,
                       "node memory use that starts it, twice in a row"));
  out.push_back(optional_number("qos.memory_evict.lower_percent",
                                KOORDLET_QOS(memory_evict.lower_percent),
                                0,
                                99,
                                "use at which enough is free; \"none\": threshold - 2"));
}

void add_cpu(std::vector<Setting>& out) {
  out.push_back(boolean("qos.cpu_evict.enable",
                        KOORDLET_QOS(cpu_evict.enable),
                        "evict pods with the label koordinator.sh/eviction-enabled while the "
                        "node's CPU use is high; the NodeSLO may switch it on as well"));
  out.push_back(number("qos.cpu_evict.threshold_percent",
                       KOORDLET_QOS(cpu_evict.threshold_percent),
                       1,
                       100,
                       "mean CPU use of the node that starts it"));
  out.push_back(optional_number("qos.cpu_evict.lower_percent",
                                KOORDLET_QOS(cpu_evict.lower_percent),
                                0,
                                99,
                                "use at which it has done enough; \"none\": threshold - 2"));
  out.push_back(boolean("qos.be_cpu_evict.enable",
                        KOORDLET_QOS(be_cpu_evict.enable),
                        "evict BE pods while BE gets too little of the CPU it requested; the "
                        "NodeSLO may switch it on as well"));
  out.push_back(number("qos.be_cpu_evict.lower_percent",
                       KOORDLET_QOS(be_cpu_evict.lower_percent),
                       1,
                       60,
                       "limit of BE in percent of its requests at which it starts"));
  out.push_back(number("qos.be_cpu_evict.upper_percent",
                       KOORDLET_QOS(be_cpu_evict.upper_percent),
                       1,
                       99,
                       "percent that is aimed at"));
  out.push_back(number("qos.be_cpu_evict.usage_threshold_percent",
                       KOORDLET_QOS(be_cpu_evict.usage_threshold_percent),
                       1,
                       100,
                       "use of BE in percent of its limit: below it nothing is lacking"));
  out.push_back(choice<bool>("qos.be_cpu_evict.limit",
                             KOORDLET_QOS(be_cpu_evict.by_allocatable),
                             {{"real", false}, {"allocatable", true}},
                             "quota and cpuset of the BE root, or the node's batch-cpu"));
}

}  // namespace

void add_eviction(std::vector<Setting>& out) {
  add_shared(out);
  add_memory_rules(out);
  add_allocatable(
      out, "qos.memory_allocatable_evict", "memory", KOORDLET_QOS(memory_allocatable_evict));
  add_cpu(out);
  add_allocatable(out, "qos.cpu_allocatable_evict", "CPU", KOORDLET_QOS(cpu_allocatable_evict));
}

#undef KOORDLET_QOS

}  // namespace koordlet::app
