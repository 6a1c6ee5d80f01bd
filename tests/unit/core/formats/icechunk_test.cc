// Icechunk repositories of handmade files: what they lead to, and what hostile ones may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>

#include "core/base/json.h"
#include "core/formats/icechunk/icechunk_files.h"
#include "core/formats/icechunk/icechunk_store.h"
#include "core/formats/open_source.h"
#include "core/formats/part_cache.h"
#include "core/formats/virtual_places.h"
#include "core/store/http/revision.h"
#include "tests/support/flat_builder.h"
#include "tests/support/memory_store.h"

namespace zarrfs {
namespace {

using ::testing::ElementsAre;
using testing::Flat;
using testing::FlatBuilder;
using ::testing::HasSubstr;
using testing::icechunk_file;
using testing::MemoryStore;

constexpr std::uint8_t kSnapshot = 1;
constexpr std::uint8_t kManifest = 2;
constexpr std::uint8_t kRepository = 6;
const std::string kArrayNumber = "array--1";

std::string number(char letter) { return std::string(12, letter); }
std::string name_of(char letter) {
  const std::string bytes = number(letter);
  return icechunk_name(ByteView(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

Flat reference(std::vector<std::uint32_t> index, std::vector<std::pair<std::size_t, Flat>> where) {
  where.emplace_back(0, Flat::numbers(index));
  return Flat::table(std::move(where));
}
Flat inlined(std::vector<std::uint32_t> index, std::string_view text) {
  return reference(std::move(index), {{1, Flat::text(text)}});
}
Flat native(std::vector<std::uint32_t> index, char chunk, std::uint64_t offset,
            std::uint64_t length) {
  return reference(
      std::move(index),
      {{2, Flat::number(offset)}, {3, Flat::number(length)}, {4, Flat::structure(number(chunk))}});
}
Bytes manifest(std::vector<Flat> references, const std::string& dictionary = "") {
  std::vector<std::pair<std::size_t, Flat>> fields = {
      {0, Flat::structure(number('m'))},
      {1, Flat::tables({Flat::table(
              {{0, Flat::structure(kArrayNumber)}, {1, Flat::tables(std::move(references))}})})}};
  if (!dictionary.empty()) fields.emplace_back(2, Flat::text(dictionary));
  return FlatBuilder::build(Flat::table(std::move(fields)));
}

Flat group(const std::string& path) {
  return Flat::table({{0, Flat::structure("group--1")},
                      {1, Flat::text(path)},
                      {2, Flat::text(R"({"zarr_format": 3, "node_type": "group"})")},
                      {3, Flat::number(std::uint8_t{2})},
                      {4, Flat::table({})}});
}
Flat array(const std::string& path, const std::string& document = "{}",
           std::vector<std::uint32_t> extents = {0, 4, 0, 4}) {
  Flat ranges = Flat::numbers(extents);
  ranges.count /= 2;
  Flat shape = Flat::tables({Flat::table({}), Flat::table({})});
  const Flat part = Flat::table({{0, Flat::structure(number('m'))}, {1, std::move(ranges)}});
  return Flat::table(
      {{0, Flat::structure(kArrayNumber)},
       {1, Flat::text(path)},
       {2, Flat::text(document)},
       {3, Flat::number(std::uint8_t{1})},
       {4, Flat::table({{0, Flat::text("")}, {2, Flat::tables({part})}, {3, std::move(shape)}})}});
}
/// `manifests`: how many chunks each has.
Bytes snapshot(std::vector<Flat> nodes, std::uint64_t time = 1'700'000'000'000'000,
               char letter = 's', std::vector<std::pair<char, std::uint32_t>> manifests = {}) {
  std::vector<Flat> told;
  for (const auto& [of, chunks] : manifests) {
    told.push_back(Flat::table({{0, Flat::structure(number(of))}, {2, Flat::number(chunks)}}));
  }
  return FlatBuilder::build(Flat::table({{0, Flat::structure(number(letter))},
                                         {2, Flat::tables(std::move(nodes))},
                                         {3, Flat::number(time)},
                                         {4, Flat::text("a message")},
                                         {7, Flat::tables(std::move(told))}}));
}

Flat pointing(const std::string& name, std::uint32_t snapshot) {
  return Flat::table({{0, Flat::text(name)}, {1, Flat::number(snapshot)}});
}
Bytes repository(std::vector<Flat> branches, std::vector<Flat> tags) {
  const auto commit = [](char letter, std::uint64_t time) {
    return Flat::table({{0, Flat::structure(number(letter))},
                        {2, Flat::number(time)},
                        {3, Flat::text(std::string("commit ") + letter)}});
  };
  return FlatBuilder::build(
      Flat::table({{1, Flat::tables(std::move(tags))},
                   {2, Flat::tables(std::move(branches))},
                   {4, Flat::tables({commit('s', 5'000'000), commit('t', 9'000'000)})}}));
}

class IcechunkTest : public ::testing::Test {
 protected:
  IcechunkTest() : place(std::make_shared<MemoryStore>()) {
    for (const char* folder : {"snapshots", "manifests", "chunks"}) {
      EXPECT_TRUE(place->make_directory(folder, 0755));
    }
    put("repo", kRepository, repository({pointing("main", 0)}, {pointing("v1", 0)}));
    put("snapshots/" + name_of('s'), kSnapshot, snapshot({group("/"), array("/a"), group("/a-b")}));
    put("manifests/" + name_of('m'), kManifest,
        manifest(
            {inlined({0, 1}, "inline"), native({0, 2}, 'c', 2, 3), native({2, 0}, 'c', 0, 1)}));
    place->write_file("chunks/" + name_of('c'), "abcdef");
  }
  void put(const std::string& path, std::uint8_t type, const Bytes& payload) {
    place->write_file(path, icechunk_file(type, payload));
  }
  Error refused(Revision revision = {}) {
    auto opened = open_icechunk(place, std::move(revision), 1U << 20U);
    return opened ? Error{Fault::kBusy, "opened"} : opened.error();
  }
  std::shared_ptr<Store> open(Revision revision = {}) {
    auto opened = open_icechunk(place, std::move(revision), 1U << 20U);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *opened : nullptr;
  }
  static std::string read(Store& store, const std::string& path) {
    const auto file = store.open(path);
    if (!file)
      return "error " + std::to_string(errno_of(file.error().fault)) + " " + file.error().message;
    if (*file == nullptr) return "absent";
    const auto status = store.status(path);
    EXPECT_TRUE(status && *status && identity_of(**status) == (*file)->identity()) << path;
    const auto bytes = (*file)->read_range({0, (*file)->size()});
    return bytes ? std::string(bytes->begin(), bytes->end()) : "error " + bytes.error().message;
  }
  static std::vector<std::string> list(Store& store, const std::string& path) {
    std::vector<std::string> names;
    const auto entries = store.list(path);
    if (!entries) return {"error " + entries.error().message};
    if (!*entries) return {"absent"};
    for (const Entry& entry : **entries) names.push_back(entry.name);
    return names;
  }

  std::shared_ptr<MemoryStore> place;
};

TEST_F(IcechunkTest, NamesLeadToBytes) {
  const auto store = open();
  EXPECT_EQ(read(*store, "a/c/0/1"), "inline");
  EXPECT_EQ(read(*store, "a/c/0/2"), "cde");
  EXPECT_EQ(read(*store, "a/c/2/0"), "a");
  EXPECT_EQ(read(*store, "a/zarr.json"), "{}");
  EXPECT_THAT(read(*store, "zarr.json"), HasSubstr("group"));
  for (const char* absent : {"a/c/0/0", "a/c/9/9", "a/c/00/1", "a/c/0/1/2", "a/c/-1/0", "b", "repo",
                             "chunks", "snapshots", "a/d", "a/c/0/4294967296"}) {
    EXPECT_EQ(read(*store, absent), "absent") << absent;
  }
  EXPECT_THAT(list(*store, ""), ElementsAre("a", "a-b", "zarr.json"));
  EXPECT_THAT(list(*store, "a"), ElementsAre("zarr.json", "c"));
  EXPECT_THAT(list(*store, "a/c"), ElementsAre("0", "2"));
  EXPECT_THAT(list(*store, "a/c/0"), ElementsAre("1", "2"));
  EXPECT_THAT(list(*store, "a/c/1"), ElementsAre("absent"));
  const auto directory = store->status("a/c/2");
  EXPECT_TRUE(directory && *directory && S_ISDIR((*directory)->st_mode));
  EXPECT_TRUE(store->why_read_only());
  EXPECT_FALSE(store->create("x", 0644));
}

TEST_F(IcechunkTest, ABranchIsSeenToMoveAndATagIsNot) {
  const auto main = open();
  const auto tag = open({Revision::Kind::kTag, "v1"});
  const auto pinned = open({Revision::Kind::kSnapshot, name_of('s')});
  put("snapshots/" + name_of('t'), kSnapshot, snapshot({group("/"), group("/new")}, 1, 't'));
  put("repo", kRepository, repository({pointing("main", 1)}, {pointing("v1", 0)}));
  EXPECT_THAT(list(*main, ""), ElementsAre("new", "zarr.json"));
  EXPECT_THAT(list(*tag, ""), ElementsAre("a", "a-b", "zarr.json"));
  EXPECT_THAT(list(*pinned, ""), ElementsAre("a", "a-b", "zarr.json"));
  const auto history = icechunk_history(*place);
  ASSERT_TRUE(history) << history.error().message;
  ASSERT_EQ(history->snapshots.size(), 2U);
  EXPECT_EQ(history->snapshots[0].name, name_of('t'));
  EXPECT_EQ(history->snapshots[1].message, "commit s");
  EXPECT_EQ(history->references.size(), 2U);
  put("repo", kRepository, repository({pointing("other", 1)}, {pointing("v1", 0)}));
  EXPECT_THAT(read(*main, "zarr.json"), HasSubstr("error 5 "));
  EXPECT_THAT(read(*main, "zarr.json"), HasSubstr("no branch main; it has other"));
}

TEST_F(IcechunkTest, WhatIsNotThereIsNamed) {
  EXPECT_THAT(refused({Revision::Kind::kBranch, "other"}).message,
              HasSubstr("no branch other; it has main"));
  EXPECT_THAT(refused({Revision::Kind::kTag, "../../x"}).message, HasSubstr("no tag ../../x"));
  EXPECT_THAT(refused({Revision::Kind::kSnapshot, "../../../../etc/passwd"}).message,
              HasSubstr("is no name of a snapshot"));
  EXPECT_EQ(refused({Revision::Kind::kSnapshot, name_of('x')}).fault, Fault::kDamaged);
  EXPECT_TRUE(place->remove("repo"));
  EXPECT_THAT(refused().message, HasSubstr("is no Icechunk repository"));
}

/// `text` as a frame of zstd that needs the dictionary.
std::string compressed_with(const std::string& dictionary, const std::string& text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     &ZSTD_freeCCtx);
  std::string frame(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress_usingDict(context.get(), frame.data(), frame.size(), text.data(), text.size(),
                              dictionary.data(), dictionary.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  frame.resize(size);
  return frame;
}

TEST_F(IcechunkTest, VirtualChunksAreReadBelowPrefixesAsTheyWere) {
  const std::string folder =
      ::testing::TempDir() + "/zarrfs-icechunk-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/data.nc") << "0123456789";
  const std::string url = "file://" + std::filesystem::canonical(folder).string() + "/data.nc";
  const auto chunk = [&](std::uint32_t at, std::vector<std::pair<std::size_t, Flat>> more) {
    more.emplace_back(2, Flat::number(std::uint64_t{3}));
    more.emplace_back(3, Flat::number(std::uint64_t{4}));
    return reference({0, at}, std::move(more));
  };
  const std::string dictionary = url + " words that are in URLs";
  put("manifests/" + name_of('m'), kManifest,
      manifest({chunk(0, {{5, Flat::text(url)}}),
                chunk(1, {{5, Flat::text(url)}, {7, Flat::number(std::uint32_t{1})}}),
                chunk(2, {{5, Flat::text(url)}, {7, Flat::number(UINT32_MAX)}}),
                chunk(3, {{8, Flat::text(compressed_with(dictionary, url))}})},
               dictionary));
  StoreOptions options;
  options.virtual_prefixes = {folder};
  const auto store = open_icechunk(place, {}, 1U << 20U, *VirtualTargets::make("", options));
  ASSERT_TRUE(store);
  EXPECT_EQ(read(**store, "a/c/0/0"), "3456");
  EXPECT_THAT(read(**store, "a/c/0/1"), HasSubstr("has changed since it was named"));
  EXPECT_EQ(read(**store, "a/c/0/2"), "3456");
  EXPECT_EQ(read(**store, "a/c/0/3"), "3456");
  EXPECT_EQ((*store)->status("a/c/0/1").error().fault, Fault::kStale);
  const VirtualSurvey survey = survey_places(*(*store)->chunks_elsewhere());
  ASSERT_EQ(survey.places.size(), 1U);
  EXPECT_EQ(survey.places[0].chunks, 4U);
  EXPECT_EQ(survey.places[0].allowed_by, folder);
  EXPECT_EQ(survey.left_out, "");
  EXPECT_THAT(read(*open(), "a/c/0/3"), HasSubstr(url + " is under no prefix"));
  std::filesystem::remove_all(folder);
}

TEST_F(IcechunkTest, DamageIsNeverAbsence) {
  put("manifests/" + name_of('m'), kManifest,
      manifest({native({0, 0}, 'x', 0, 3), native({0, 1}, 'c', 5, 2),
                native({0, 2}, 'c', UINT64_MAX - 1, 5),
                reference({0, 3}, {{3, Flat::number(std::uint64_t{9})},
                                   {5, Flat::text("file:///etc/passwd")}}),
                reference({1, 0}, {{8, Flat::text("packed")}})}));
  const auto store = open();
  EXPECT_THAT(read(*store, "a/c/0/0"), HasSubstr("is not there"));
  EXPECT_THAT(read(*store, "a/c/0/1"), HasSubstr("[5, +2)"));
  EXPECT_THAT(read(*store, "a/c/0/2"), HasSubstr("lie past the end"));
  EXPECT_THAT(
      read(*store, "a/c/0/3"),
      ::testing::StartsWith("error 1 a/c/0/3: its bytes lie elsewhere: file:///etc/passwd is "
                            "under no prefix"));
  EXPECT_FALSE(store->status("a/c/0/3"));
  EXPECT_THAT(read(*store, "a/c/1/0"), HasSubstr("compressed_location of a chunk: zstd: "));
  EXPECT_EQ(read(*store, "a/c/1/1"), "absent");
  EXPECT_TRUE(place->remove("manifests/" + name_of('m')));
  const auto later = open();
  EXPECT_THAT(read(*later, "a/c/1/1"), HasSubstr("manifests/"));
  EXPECT_THAT(list(*later, "a/c")[0], HasSubstr("error manifests/"));
}

TEST_F(IcechunkTest, AManifestThatIsNotInOrderIsDamaged) {
  const std::vector<std::vector<Flat>> wrong = {
      {inlined({0, 2}, "b"), inlined({0, 1}, "a")},
      {inlined({0, 1}, "b"), inlined({0, 1}, "a")},
      {inlined({0, 1}, "b"), inlined({0, 1, 2}, "a")},
      {reference({0, 1}, {})},
      {reference({0, 1}, {{5, Flat::text(std::string(kLongestUrl + 1, 'u'))}})},
      {reference({0, 1}, {{5, Flat::text("u")}, {6, Flat::text(std::string(70000, 't'))}})},
      {reference({0, 1}, {{1, Flat::text("a")}, {5, Flat::text("http://a")}})},
      {inlined({0}, "rank")},
  };
  for (const std::vector<Flat>& references : wrong) {
    put("manifests/" + name_of('m'), kManifest, manifest(references));
    const auto store = open();
    EXPECT_THAT(read(*store, "a/c/3/3"), HasSubstr("error 117 manifests/"));
  }
}

TEST_F(IcechunkTest, AFileOfAnotherNameOrWithOtherChunksIsDamaged) {
  const std::string at = "snapshots/" + name_of('s');
  for (const std::uint32_t chunks : {0U, 2U, 4U}) {
    put(at, kSnapshot, snapshot({array("/a")}, 0, 's', {{'l', 1}, {'m', chunks}, {'n', 1}}));
    EXPECT_THAT(read(*open(), "a/c/3/3"),
                HasSubstr("has 3 chunks, and the snapshot tells of " + std::to_string(chunks)));
  }
  put(at, kSnapshot, snapshot({array("/a")}, 0, 's', {{'l', 1}, {'m', 3}, {'n', 1}}));
  EXPECT_EQ(read(*open(), "a/c/3/3"), "absent");
  place->write_file("snapshots/" + name_of('s'), icechunk_file(kSnapshot, snapshot({}, 0, 'x')));
  EXPECT_THAT(refused().message, HasSubstr("its id is " + name_of('x')));
  put(at, kSnapshot, snapshot({array("/a", "{}", {0, 4, 0, 4})}));
  Bytes other = manifest({inlined({0, 1}, "inline")});
  std::replace(other.begin(), other.end(), std::uint8_t{'m'}, std::uint8_t{'x'});
  put("manifests/" + name_of('m'), kManifest, other);
  EXPECT_THAT(read(*open(), "a/c/3/3"), HasSubstr("its id is " + name_of('x')));
}

TEST_F(IcechunkTest, LongUrlsAreRefusedByName) {
  const std::string bomb(kLongestUrl + 1, 'u');
  put("manifests/" + name_of('m'), kManifest,
      manifest({reference({0, 0}, {{8, Flat::text(compressed_with("words", bomb))}})}, "words"));
  EXPECT_THAT(read(*open(), "a/c/0/0"), HasSubstr("compressed_location of a chunk: zstd: "));
  put("manifests/" + name_of('m'), kManifest,
      manifest({reference({0, 0}, {{5, Flat::text(bomb)}})}));
  EXPECT_THAT(read(*open(), "a/c/0/0"),
              HasSubstr("the URL of a chunk has 65537 bytes; at most 65536 are read"));
}

TEST_F(IcechunkTest, HostileNodesAreRefused) {
  const std::string path = "snapshots/" + name_of('s');
  for (const char* name : {"", "a", "/a/", "/a/../b", "/..", "//", "/a//b", "/./a"}) {
    put(path, kSnapshot, snapshot({group(name)}));
    EXPECT_THAT(refused().message, HasSubstr("is no path of a node")) << name;
  }
  put(path, kSnapshot, snapshot({group("/" + std::string(5000, 'a'))}));
  EXPECT_EQ(refused().fault, Fault::kDamaged);
  put(path, kSnapshot, snapshot({group("/a"), group("/a")}));
  EXPECT_THAT(refused().message, HasSubstr("there twice"));
  put(path, kSnapshot, snapshot({array("/a", "{}", {0, 4})}));
  EXPECT_THAT(read(*open(), "a/c/0/1"), HasSubstr("a manifest of 1"));
  put(path, kSnapshot, snapshot({array("/a", R"({"chunk_key_encoding": {"name": "v2"}})")}));
  EXPECT_THAT(read(*open(), "a/zarr.json"), HasSubstr("chunk_key_encoding"));
  put("repo", kRepository, repository({pointing("main", 2)}, {}));
  EXPECT_THAT(refused().message, HasSubstr("names snapshot 2 of 2"));
}

TEST_F(IcechunkTest, ATimeThatNoFileCanHaveIsTheLatest) {
  put("snapshots/" + name_of('s'), kSnapshot, snapshot({group("/")}, UINT64_MAX));
  const auto status = open()->status("zarr.json");
  ASSERT_TRUE(status && *status);
  EXPECT_EQ((**status).st_mtim.tv_sec, INT64_MAX / 1'000'000'000);
}

TEST_F(IcechunkTest, HeadersAreChecked) {
  const Bytes payload = repository({pointing("main", 0)}, {});
  place->write_file("repo", icechunk_file(kRepository, payload, 0, 3));
  EXPECT_THAT(refused().message, HasSubstr("specification 3"));
  place->write_file("repo", icechunk_file(kRepository, payload, 2));
  EXPECT_THAT(refused().message, HasSubstr("compressed by method 2"));
  place->write_file("repo", icechunk_file(kManifest, payload));
  EXPECT_THAT(refused().message, HasSubstr("of type 2, not 6"));
  place->write_file("repo", icechunk_file(kRepository, payload, 1));
  EXPECT_EQ(refused().fault, Fault::kDamaged);
}

TEST_F(IcechunkTest, ABombIsRefused) {
  const Bytes zeros(std::size_t{1} << 20U);
  Bytes frame(ZSTD_compressBound(zeros.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), zeros.data(), zeros.size(), 1));
  Bytes bomb;
  for (int i = 0; i < 300; ++i) bomb.insert(bomb.end(), frame.begin(), frame.end());
  place->write_file("repo", icechunk_file(kRepository, bomb, 1));
  const Error error = refused();
  EXPECT_EQ(error.fault, Fault::kDamaged) << error.message;
  EXPECT_THAT(error.message, HasSubstr("repo: zstd"));
}

TEST_F(IcechunkTest, EveryCutIsAnErrorOrTheSame) {
  const Bytes whole = manifest({inlined({0, 1}, "inline"), native({0, 2}, 'c', 2, 3)});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    put("manifests/" + name_of('m'), kManifest,
        Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
    const std::string found = read(*open(), "a/c/0/1");
    EXPECT_TRUE(found == "inline" || found.starts_with("error 117 ")) << length << ": " << found;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const std::uint8_t value : {0, 1, 0x7f, 0xff}) {
      Bytes harmed = whole;
      harmed[at] = value;
      put("manifests/" + name_of('m'), kManifest, harmed);
      static_cast<void>(read(*open(), "a/c/0/2"));
    }
  }
}

TEST(FlatTable, OffsetsStayWithin) {
  for (const std::vector<std::uint32_t>& words : {std::vector<std::uint32_t>{},
                                                  {0},
                                                  {4, 0xffffffff},
                                                  {0xffffffff, 0},
                                                  {4, 0x80000000},
                                                  {8, 0x00080004, 4}}) {
    Bytes bytes;
    for (const std::uint32_t word : words) append_little(bytes, word);
    const auto table = FlatTable::root(bytes);
    if (table) {
      EXPECT_TRUE(table->vector(0, 8));
    }
  }
  // A table that leads to itself, and a vector that claims more than there is.
  Bytes bytes = FlatBuilder::build(Flat::table({{0, Flat::table({})}, {1, Flat::text("abc")}}));
  const auto table = FlatTable::root(bytes);
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->vector(1, 1U << 30U));
  EXPECT_FALSE(table->inline_bytes(0, 100));
  EXPECT_TRUE(table->vector(7, 4));
}

TEST(IcechunkNames, AreCrockfordsBase32) {
  const Bytes first = {0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34};
  EXPECT_EQ(icechunk_name(first), "1CECHNKREP0F1RSTCMT0");
  EXPECT_TRUE(is_icechunk_name("1CECHNKREP0F1RSTCMT0"));
  EXPECT_FALSE(is_icechunk_name("1CECHNKREP0F1RSTCMT"));
  EXPECT_FALSE(is_icechunk_name("../ECHNKREP0F1RSTCMT"));
}

TEST(Revisions, AreSpelledBehindTheSource) {
  EXPECT_FALSE(versioned_source("s3://b/r?branch=x").icechunk);
  EXPECT_EQ(versioned_source("s3://b/r?branch=x").place, "s3://b/r?branch=x");
  EXPECT_EQ(versioned_source("icechunk:s3://b/r?branch=x").place, "s3://b/r");
  EXPECT_EQ(versioned_source("icechunk:https://h/r?sig=1&tag=a%2Fb&t=2").place,
            "https://h/r?sig=1&t=2");
  EXPECT_EQ(versioned_source("icechunk:/d/a?b").place, "/d/a?b");
  EXPECT_EQ((*revision_of("icechunk:https://h/r?tag=a%2Fb"))->name, "a/b");
  EXPECT_EQ(spell_revision(**revision_of("icechunk:r")), "branch main");
  EXPECT_FALSE(*revision_of("/d/r"));
  EXPECT_FALSE(revision_of("icechunk:r?tag=a&branch=b"));
  EXPECT_FALSE(revision_of("icechunk:r?tag="));
}

TEST(PartCache, KeepsAsManyAsFit) {
  int reads = 0;
  PartCache<IcechunkManifest> cache(1, [&](const std::string&) {
    ++reads;
    return IcechunkManifest::parse(manifest({inlined({0, 1}, "inline")}));
  });
  ASSERT_TRUE(cache.get("a"));
  ASSERT_TRUE(cache.get("a"));
  EXPECT_EQ(reads, 1);
  ASSERT_TRUE(cache.get("b"));
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_NE(cache.find("b"), nullptr);
  ASSERT_TRUE(cache.get("a"));
  EXPECT_EQ(reads, 3);
  PartCache<IcechunkManifest> failing(
      1, [&](const std::string&) -> Result<PartCache<IcechunkManifest>::Pointer> {
        return fail(Fault::kIo, "no");
      });
  EXPECT_FALSE(failing.get("a"));
  EXPECT_FALSE(failing.get("a"));
}

}  // namespace
}  // namespace zarrfs
