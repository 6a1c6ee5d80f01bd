// The core's hot functions, without kernel and disk: core_bench [--benchmark_filter=NAME].
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/zarr/shard_index.h"
#include "tests/support/shown_store.h"
#include "tests/support/store_maker.h"

namespace zarrfs {
namespace {

constexpr std::uint64_t kChunkBytes = 4096;

IndexFormat format_of(std::uint64_t entries) {
  CodecSpec bytes{"bytes"};
  bytes.configuration["endian"] = "little";
  return *IndexFormat::make({bytes, CodecSpec{"crc32c"}}, {entries}, false);
}

ShardIndex full_index(std::uint64_t entries) {
  ShardIndex index = ShardIndex::empty(entries);
  for (std::uint64_t i = 0; i < entries; ++i) index.set(i, {i * kChunkBytes, kChunkBytes});
  return index;
}

void index_decode(benchmark::State& state) {
  const auto entries = static_cast<std::uint64_t>(state.range(0));
  const IndexFormat format = format_of(entries);
  const Bytes encoded = *full_index(entries).encode(format);
  const std::uint64_t shard = entries * kChunkBytes + encoded.size();
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(ShardIndex::decode(encoded, format, shard));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(entries) * state.iterations());
}
BENCHMARK(index_decode)->Arg(512)->Arg(32768);

void index_lookup(benchmark::State& state) {
  const auto entries = static_cast<std::uint64_t>(state.range(0));
  const ShardIndex index = full_index(entries);
  std::uint64_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(index.entry(at));
    at = (at * 5 + 1) % entries;
  }
}
BENCHMARK(index_lookup)->Arg(512)->Arg(32768);

/// One array of one shard of 32768 chunks of one byte, each there.
test::StoreMaker& full_shard() {
  static test::StoreMaker maker;
  static const bool made = [] {
    test::ArrayPlan plan;
    plan.shape = plan.shard_shape = {32, 32, 32};
    plan.chunk_shape = {1, 1, 1};
    plan.data_type = "uint8";
    maker.array("a", plan);
    constexpr std::uint64_t kEntries = 32768;
    ShardIndex index = ShardIndex::empty(kEntries);
    for (std::uint64_t i = 0; i < kEntries; ++i) index.set(i, {i, 1});
    const Bytes encoded = *index.encode(format_of(kEntries));
    maker.text("a/c/0/0/0",
               std::string(kEntries, 'x') + std::string(encoded.begin(), encoded.end()));
    return true;
  }();
  static_cast<void>(made);
  return maker;
}

void lookup(benchmark::State& state) {
  test::ShownStore shown(full_shard().root());
  const auto array = *shown.find("a");
  std::uint64_t at = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::string name = std::to_string(at % 32) + "." + std::to_string(at / 32 % 32) + ".7";
    const auto found = shown.view().find(array->id, name);
    if (!found || !*found) state.SkipWithError("no chunk");
    shown.view().forget((*found)->id, 1);
    ++at;
  }
}
BENCHMARK(lookup);

void listing(benchmark::State& state) {
  test::ShownStore shown(full_shard().root());
  const auto array = *shown.find("a");
  std::int64_t names = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto directory = shown.view().open_directory(array->id);
    const auto listed = (*directory)->list(0, [&names](const Listed& one) {
      benchmark::DoNotOptimize(one.name.data());
      ++names;
      return true;
    });
    if (!listed) state.SkipWithError("no listing");
  }
  state.SetItemsProcessed(names);
}
BENCHMARK(listing)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zarrfs

BENCHMARK_MAIN();
