#include "models/nccl/system/cpu_generation.h"

#include <algorithm>
#include <array>

#include "sim/base/lines.h"

namespace collsim {

namespace {

constexpr NcclCpu intel(int model) {
  return {CpuArchitecture::x86, CpuVendor::intel, 6, model};
}

constexpr NcclCpu amd(int family, int model) {
  return {CpuArchitecture::x86, CpuVendor::amd, family, model};
}

/// Links between two sockets: QPI and UPI carry two bytes a transfer each way, 9.6, 10.4, 11.2, 16,
/// 20 and 24 GT/s (Intel Xeon E5 v4 data sheet; Intel Xeon Scalable and Xeon 6 product briefs);
/// xGMI is x16 at 18 or 32 GT/s (AMD EPYC 7002 and 9004 data sheets). Servers join sockets by two
/// QPI, three UPI, four from Sapphire Rapids on, and three xGMI. Models as Linux has them
/// (arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c): processors of one socket, such
/// as Threadripper, are none of these.
constexpr std::array generations{
    CpuGeneration{"Xeon Broadwell", intel(0x4F), 0x4F, 2 * 19.2},
    CpuGeneration{"Xeon Skylake", intel(0x55), 0x55, 3 * 20.8},
    CpuGeneration{"Xeon Cascade Lake", intel(0x55), 0x55, 3 * 20.8},
    CpuGeneration{"Xeon Ice Lake", intel(0x6A), 0x6C, 3 * 22.4},
    CpuGeneration{"Xeon Sapphire Rapids", intel(0x8F), 0x8F, 4 * 32},
    CpuGeneration{"Xeon Emerald Rapids", intel(0xCF), 0xCF, 4 * 40},
    CpuGeneration{"Xeon Granite Rapids", intel(0xAD), 0xAE, 4 * 48},
    CpuGeneration{"AMD EPYC Rome", amd(23, 49), 49, 3 * 36},
    CpuGeneration{"AMD EPYC Milan", amd(25, 1), 1, 3 * 36},
    CpuGeneration{"AMD EPYC Genoa", amd(25, 17), 17, 3 * 64},
    CpuGeneration{"AMD EPYC Bergamo", amd(25, 160), 175, 3 * 64},
    CpuGeneration{"AMD EPYC Turin", amd(26, 2), 2, 3 * 64},
    CpuGeneration{"AMD EPYC Turin", amd(26, 17), 17, 3 * 64},
};

/// The digit of a CPU's number that tells the generation.
struct NumberedGeneration {
  std::string_view maker;
  char digit;
  std::string_view name;
};
constexpr std::array numbered{
    NumberedGeneration{"Xeon", '1', "Xeon Skylake"},
    NumberedGeneration{"Xeon", '2', "Xeon Cascade Lake"},
    NumberedGeneration{"Xeon", '3', "Xeon Ice Lake"},
    NumberedGeneration{"Xeon", '4', "Xeon Sapphire Rapids"},
    NumberedGeneration{"Xeon", '5', "Xeon Emerald Rapids"},
    NumberedGeneration{"EPYC", '2', "AMD EPYC Rome"},
    NumberedGeneration{"EPYC", '3', "AMD EPYC Milan"},
    NumberedGeneration{"EPYC", '4', "AMD EPYC Genoa"},
    NumberedGeneration{"EPYC", '5', "AMD EPYC Turin"},
};

const CpuGeneration* named(std::string_view name) {
  const auto found = std::find_if(generations.begin(), generations.end(),
                                  [&](const CpuGeneration& each) { return each.name == name; });
  return found == generations.end() ? nullptr : &*found;
}

/// "8480C" of "Xeon Platinum 8480C": the first word of four characters or more that begins with a
/// digit; empty where there is none.
std::string_view number_of(std::string_view model) {
  constexpr std::size_t digits = 4;
  for (const std::string_view word : split_lines(model, ' ')) {
    if (word.size() >= digits && word.front() >= '0' && word.front() <= '9') return word;
  }
  return {};
}

/// The second digit of a Xeon's number, the fourth of an EPYC's.
const CpuGeneration* find_by_number(std::string_view model) {
  const std::string_view number = number_of(model);
  if (number.empty()) return nullptr;
  for (const NumberedGeneration& each : numbered) {
    const bool is_makers = model.find(each.maker) != std::string_view::npos;
    if (is_makers && number[each.maker == "Xeon" ? 1 : 3] == each.digit) return named(each.name);
  }
  return nullptr;
}

}  // namespace

std::span<const CpuGeneration> cpu_generations() {
  return generations;
}

const CpuGeneration* find_cpu_generation(std::string_view model) {
  for (const CpuGeneration& each : generations) {
    if (model.find(each.name) != std::string_view::npos) return &each;
  }
  if (model.find("Xeon E5-") != std::string_view::npos && model.ends_with(" v4")) {
    return named("Xeon Broadwell");
  }
  return find_by_number(model);
}

const CpuGeneration* generation_of(const NcclCpu& cpu) {
  const CpuGeneration* latest = nullptr;
  for (const CpuGeneration& each : generations) {
    const bool is_alike = each.cpu.architecture == cpu.architecture &&
                          each.cpu.vendor == cpu.vendor && each.cpu.family == cpu.family;
    if (is_alike && each.cpu.model <= cpu.model && cpu.model <= each.last_model) latest = &each;
  }
  return latest;
}

int decoded_amd_family(int family) {
  constexpr int base = 15;  // of all AMD CPUs that have an extended family
  const bool is_encoded = family % 16 == base && family / 16 > 1;
  return is_encoded ? base + family / 16 : family;
}

}  // namespace collsim
