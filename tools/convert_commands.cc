// zarrfs shard, unshard, reshard: from plain stores to sharded ones and back.
#include "core/base/printable.h"
#include "core/store/open_store.h"
#include "tools/commands.h"
#include "tools/convert/convert.h"
#include "tools/convert/parts.h"
#include "tools/shared/numbers.h"
#include "tools/shared/parallel.h"
#include "tools/shared/part.h"
#include "tools/shared/source.h"

namespace zarrfs::tools {
namespace {

constexpr unsigned kUploads = 16;  // objects that are made and put at once

class Convert final : public Command {
 public:
  Convert(Form::Kind kind, std::string name, std::string summary)
      : kind_(kind), name_(std::move(name)), summary_(std::move(summary)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string summary() const override { return summary_; }

  void declare(CLI::App& app) override {
    declare_source(app, source_, source_options_);
    auto* target =
        app.add_option("TARGET", target_,
                       "Where the new store is made: a directory, a bucket's URL, or an archive "
                       "if it ends in .ozx or .zip");
    app.add_option("--target-remote", target_remote_,
                   "Options of a TARGET at a server, if they differ from --remote")
        ->type_name("OPTIONS")
        ->needs(target);
    app.add_flag("--in-place", in_place_,
                 "The new store takes the place of SOURCE when it is complete and checked")
        ->excludes(target);
    if (kind_ == Form::Kind::kPlain) {
      app.add_option("--format", format_, "v3 or v2")
          ->check(CLI::IsMember({"v2", "v3"}))
          ->capture_default_str();
      app.add_option("--profile", profile_, "The readers, for --format v2")->capture_default_str();
    } else {
      declare_shape(app);
    }
    app.add_option("--fill-value-is-missing", fill_,
                   "Whether fill values mean missing data: auto (those of Zarr v2 arrays with "
                   "_ARRAY_DIMENSIONS, but not of images), yes, no")
        ->check(CLI::IsMember({"auto", "yes", "no"}))
        ->capture_default_str();
    app.add_option("--symlinks", symlinks_,
                   "Links that leave SOURCE: inside refuses them by name, follow copies what they "
                   "lead to")
        ->check(CLI::IsMember({"inside", "follow"}))
        ->capture_default_str();
    declare_parts(app, *target);
    app.add_flag("--check", check_, "Compare all bytes in the end (always so with --in-place)");
    app.add_flag("--discard", discard_,
                 "Convert nothing: remove what an unfinished conversion of SOURCE, to TARGET or in "
                 "place, has made");
    app.add_option("-j,--threads", threads_,
                   "Threads; more than processors where TARGET is at a server, if not given")
        ->check(whole_number_between(1, 1024));
    app.footer(
        "Several machines make one TARGET by --part, on each any parts, as often as needed, and "
        "one\n"
        "of them ends it with --finish (docs/cluster.md).\n"
        "Chunks are copied as they are stored. What is so already is copied. A conversion that "
        "was\n"
        "interrupted goes on when it is started again with the same arguments; an archive is "
        "begun\n"
        "anew. What cannot get the form asked for is left as it is, or left out, by name (exit\n"
        "status 1).");
  }

  int run(const Streams& streams) override {
    const Console console(streams);
    const InterruptWatch watch(InterruptWatch::Work::kWrites);
    if (in_place_ == !target_.empty()) {
      console.say("give either TARGET or --in-place");
      return kUsage;
    }
    if (const auto wrong = wrong_parts()) {
      console.say(*wrong);
      return kUsage;
    }
    for (const std::string& side : {source_, target_}) {
      if (side.empty()) continue;  // in place
      const auto answers = check_mount_answers(console, side);
      if (!answers) return console.failed(answers.error());
    }
    const bool uploads = !in_place_ && !is_local(target_);
    ConversionOptions options{.form = form_,
                              .fill = meaning_of_fill(),
                              .profile = profile_,
                              .in_place = in_place_,
                              .check_bytes = check_,
                              .threads = threads_.value_or(uploads ? kUploads : default_threads()),
                              .source_options = source_options_,
                              .target_remote = target_remote_.value_or(source_options_.remote)};
    options.source_options.links =
        symlinks_ == "follow" ? LinkPolicy::kFollow : LinkPolicy::kInside;
    if (discard_) {
      const auto discarded = discard_conversion(console, source_, target_, options);
      return discarded ? kGood : console.failed(discarded.error());
    }
    options.form.kind = format_ == "v2" ? Form::Kind::kPlainV2 : kind_;
    if (const auto step = step_of_parts()) {
      const auto status = convert_in_parts(console, source_, target_, options, *step);
      return status ? *status : console.could_not(status.error());
    }
    std::string unfinished;
    const auto all = convert_store(console, source_, target_, options, unfinished);
    if (!all) {
      const int status = console.failed(all.error());
      if (!unfinished.empty()) {
        console.say(unfinished +
                    " is unfinished: the same command goes on with it, and removes it with "
                    "--discard");
      }
      return status;
    }
    if (*all) return kGood;
    console.say(source_ +
                ": not everything got the form asked for; the lines above say what, and why");
    return kFound;
  }

 private:
  [[nodiscard]] FillMeaning meaning_of_fill() const {
    if (fill_ == "yes") return FillMeaning::kMissing;
    return fill_ == "no" ? FillMeaning::kValue : FillMeaning::kAuto;
  }

  void declare_parts(CLI::App& app, CLI::Option& target) {
    auto* group = app.add_option_group("parts", "Several machines make one TARGET");
    group->add_flag("--begin", begin_, "Write down in TARGET what is going to be made, and stop")
        ->needs(&target);
    group
        ->add_option("--part", part_,
                     "Make part I of N, such as 3/64: on any machine, in any order, again and "
                     "again; begins if nobody has")
        ->type_name("I/N")
        ->check(CLI::Validator(wrong_part, ""))
        ->needs(&target);
    group
        ->add_flag("--finish", finish_,
                   "Name what is missing (exit status 1), or make TARGET a store; with --check, "
                   "compare all bytes before")
        ->needs(&target);
    group->add_flag("--status", status_, "Say how many pieces are made")->needs(&target);
    group->require_option(0, 1);
    auto* parts =
        app.add_option(
               "--parts", parts_,
               "With --begin: the number of parts, also to change it; otherwise the first --part "
               "sets it")
            ->check(whole_number_between(1, kMostParts));
    auto* json = app.add_flag("--json", json_, "With --status: one JSON document, for programs");
    parts->needs(app.get_option("--begin"));
    json->needs(app.get_option("--status"));
  }

  // What is wrong with the options of parts; nothing where nothing is.
  [[nodiscard]] std::optional<std::string> wrong_parts() const {
    const bool any = begin_ || !part_.empty() || finish_ || status_;
    if (any && discard_) return "--discard removes all parts: give it alone";
    if (any && check_ && !finish_)
      return "--check goes with --finish, not with other steps of parts";
    return std::nullopt;
  }

  [[nodiscard]] std::optional<PartsStep> step_of_parts() const {
    PartsStep step{.kind = PartsStep::Kind::kBegin, .part = 0, .parts = parts_, .json = json_};
    if (begin_) return step;
    if (finish_) step.kind = PartsStep::Kind::kFinish;
    if (status_) step.kind = PartsStep::Kind::kStatus;
    if (finish_ || status_) return step;
    const auto part = parse_part(part_);
    if (!part) return std::nullopt;
    step.kind = PartsStep::Kind::kPart;
    step.part = part->part;
    step.parts = part->parts;
    return step;
  }

  void declare_shape(CLI::App& app) {
    auto* group = app.add_option_group(
        "shape", "The shape of shards (64 MiB of decoded chunks where none is given)");
    add_lengths(*group, "--shard-shape", form_.shards.shape,
                "In elements, such as 512x512x64 or 512 512 64, rounded up to whole chunks; one "
                "number for every axis");
    add_lengths(*group, "--shard-chunks", form_.shards.chunks,
                "In inner chunks, such as 8x8x1 or 8 8 1; one number for every axis");
    group
        ->add_option("--shard-bytes", form_.shards.bytes,
                     "Decoded bytes of a shard, at most (64M, 1G, ...)")
        ->transform(CLI::AsSizeValue(false))
        ->transform(number_from(1));
    group->require_option(0, 1);
  }

  Form::Kind kind_;
  std::string name_;
  std::string summary_;
  std::string source_;
  SourceOptions source_options_;
  std::string target_;
  std::optional<std::string> target_remote_;
  std::string symlinks_ = "inside";
  std::string format_ = "v3";
  std::string profile_ = "generic";
  std::string fill_ = "auto";
  Form form_;
  bool in_place_ = false;
  bool check_ = false;
  bool discard_ = false;
  bool begin_ = false;
  std::string part_;
  bool finish_ = false;
  bool status_ = false;
  std::uint64_t parts_ = 0;
  bool json_ = false;
  std::optional<unsigned> threads_;
};

}  // namespace

std::unique_ptr<Command> shard_command() {
  return std::make_unique<Convert>(Form::Kind::kSharded, "shard",
                                   "Gather the chunks of plain arrays in shards");
}
std::unique_ptr<Command> unshard_command() {
  return std::make_unique<Convert>(Form::Kind::kPlain, "unshard",
                                   "Make each chunk of sharded arrays a file, as Zarr v3 or v2");
}
std::unique_ptr<Command> reshard_command() {
  return std::make_unique<Convert>(Form::Kind::kResharded, "reshard",
                                   "Give sharded arrays another shard shape");
}

}  // namespace zarrfs::tools
