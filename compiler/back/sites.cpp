// Equal sites are one, so that the rounds of the simplifier, which copy everything again, add none.
#include "compiler/back/sites.h"

namespace cairn::compiler::back {

std::uint32_t Sites::entered(std::string_view name, bool library, Origin call) {
  auto [found, added] = numbers_.emplace(std::pair(name, library), static_cast<std::uint32_t>(procedures_.size()));
  if (added) procedures_.push_back({name, library});
  return intern(found->second, call);
}

std::uint32_t Sites::intern(std::uint32_t procedure, Origin call) {
  if (call.site != kNoSite && sites_[call.site].depth == bytecode::kDeepestSites) call = sites_[call.site].call;
  auto [found, added] = known_.emplace(std::tuple(procedure, call.site, call.span.file, call.span.begin, call.span.end),
                                       static_cast<std::uint32_t>(sites_.size()));
  if (added) sites_.push_back({procedure, call, call.site == kNoSite ? 1 : sites_[call.site].depth + 1});
  return found->second;
}

std::uint32_t Sites::rebased_site(std::uint32_t site, std::uint32_t base) {
  if (site == kNoSite) return base;
  if (base == kNoSite) return site;
  std::uint64_t key = std::uint64_t{site} << 32 | base;
  if (auto known = rebased_.find(key); known != rebased_.end()) return known->second;
  std::uint32_t result = intern(sites_[site].procedure, rebased(Origin(sites_[site].call), base));
  rebased_.emplace(key, result);
  return result;
}

std::uint32_t Sites::number(std::uint32_t procedure, bytecode::Module& module, Ground& ground) const {
  auto [name, library] = procedures_[procedure];
  ground.new_inlined.push_back(nullptr);
  auto [found, added] = ground.inlined.emplace(Text(1, library ? 'l' : 'u').append(name), 0);
  if (!added) {
    ground.new_inlined.pop_back();
    return found->second;
  }
  ground.new_inlined.back() = &found->first;
  module.inlined.push_back({std::string(name), library});
  return found->second = ground.ends.inlined + static_cast<std::uint32_t>(module.inlined.size() - 1);
}

void Sites::write(bytecode::Function& function, bytecode::Module& module, Ground& ground) const {
  Map<std::uint32_t, std::uint32_t> numbers;
  for (bytecode::PcSpan& at : function.spans) {
    Vector<std::uint32_t> chain; // of sites that have no number yet, the innermost first
    for (std::uint32_t s = at.site; s != kNoSite && !numbers.contains(s); s = sites_[s].call.site) chain.push_back(s);
    for (std::size_t i = chain.size(); i-- > 0;) {
      const Site& site = sites_[chain[i]];
      numbers.emplace(chain[i], static_cast<std::uint32_t>(function.sites.size()));
      std::uint32_t parent = site.call.site == kNoSite ? kNoSite : numbers.at(site.call.site);
      function.sites.push_back({number(site.procedure, module, ground), site.call.span, parent});
    }
    if (at.site != kNoSite) at.site = numbers.at(at.site);
  }
}

} // namespace cairn::compiler::back
