// The view of one store: gives each request to the class whose task it is, and reports the faults
// that come back. Thread-safe. docs/architecture.md, "Locks", has the locks that are
// held across I/O.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/nodes/survey.h"
#include "core/vfs/attributes.h"
#include "core/vfs/creation.h"
#include "core/vfs/moves.h"
#include "core/vfs/opening.h"
#include "core/vfs/publishing.h"
#include "core/vfs/removal.h"
#include "core/vfs/second_looks.h"
#include "core/view/view.h"

namespace zarrfs {

class StoreView : public View {
 public:
  StoreView(std::shared_ptr<Store> store, const ViewOptions& options, Profile profile)
      : parts_(std::move(store), options, std::move(profile)) {}
  ~StoreView() override;

  /// Why the source cannot be shown at all.
  Result<void> check_source();
  /// Takes up why the profile was chosen, and what notice() says.
  Result<void> explain(const ProfileChoice& choice, const Survey& survey);
  Result<void> begin_writing() { return publishing_.begin(); }

  Result<std::optional<InodeEntry>> find(NodeId parent, std::string_view name) override;
  Result<InodeEntry> attributes(NodeId node) override;
  Result<InodeEntry> attributes_by_now(NodeId node) override;
  Result<std::shared_ptr<OpenFile>> open_file(NodeId node) override;
  Result<std::optional<FoundAndOpened>> find_and_open(NodeId parent,
                                                      std::string_view name) override;
  Result<std::shared_ptr<OpenDirectory>> open_directory(NodeId node) override;
  void forget(NodeId node, std::uint64_t lookups) override;
  Result<std::vector<std::string>> attribute_names(NodeId node) override;
  Result<std::string> attribute(NodeId node, const std::string& name) override;
  Result<void> lend_names(std::shared_ptr<StoreWatch> watch,
                          std::function<void(NodeId)> recall) override {
    parts_.listings.begin(watch);
    return parts_.loans.begin(std::move(watch), std::move(recall));
  }
  void end_lending() override { parts_.loans.end(); }
  std::vector<NodeId> spare_nodes() override;
  Result<struct statvfs> space() override { return parts_.shared.store->space(); }
  std::string report() override { return control_.report(); }
  [[nodiscard]] std::string notice() const override { return notice_; }
  void set_front_statistics(std::function<std::string()> render_json_object) override;

  [[nodiscard]] bool writable() const override { return parts_.writable(); }
  Result<Created> create(NodeId parent, std::string_view name, int flags, mode_t mode) override;
  Result<std::shared_ptr<OpenFile>> open_for_writing(NodeId node, int flags) override;
  Result<InodeEntry> change(NodeId node, const AttributeChange& change, OpenFile* file) override;
  Result<InodeEntry> make_directory(NodeId parent, std::string_view name, mode_t mode) override;
  Result<InodeEntry> make_link(NodeId parent, std::string_view name,
                               const std::string& target) override;
  Result<std::string> read_link(NodeId node) override;
  Result<bool> remove_file(NodeId parent, std::string_view name) override;
  Result<bool> remove_directory(NodeId parent, std::string_view name) override;
  Result<bool> rename(NodeId parent, std::string_view name, NodeId new_parent,
                      std::string_view new_name, bool replace) override;
  Result<InodeEntry> link(NodeId node, NodeId new_parent, std::string_view new_name) override;
  Result<void> sync(NodeId node) override;
  bool must_wait(NodeId parent, std::string_view name) override;
  Result<void> publish() override;
  Result<void> close() override { return publishing_.close(); }
  std::vector<Unpublished> unpublished() override { return control_.unpublished(); }

 private:
  template <class T>
  Result<T> reported(Result<T> result) {
    return parts_.reported(std::move(result));
  }
  /// As reported(), but for an error that only says to come again for this name.
  template <class T>
  Result<T> reported_unless_waiting(Result<T> result, NodeId parent, std::string_view name) {
    const bool busy = !result && result.error().fault == Fault::kBusy;
    return busy && must_wait(parent, name) ? result : reported(std::move(result));
  }

  ViewParts parts_;
  Statuses statuses_{parts_.shared, parts_.permissions};
  Entries entries_{parts_, statuses_};
  Inodes inodes_{parts_};
  Documents documents_{parts_};
  ControlFiles control_{parts_, statuses_};
  CallerRights rights_{parts_};
  Namespace names_{parts_, documents_, entries_, inodes_, control_, rights_, statuses_};
  PassThrough pass_through_{parts_, entries_};
  StagedFiles staged_{parts_, documents_, entries_, rights_};
  Opening opening_{parts_,    names_,  documents_, entries_, inodes_,
                   statuses_, rights_, control_,   staged_,  pass_through_};
  SecondLooks second_looks_{names_, opening_};
  Attributes attributes_{parts_,    names_,  documents_, entries_,      inodes_,
                         statuses_, rights_, control_,   pass_through_, opening_};
  Creation creation_{parts_, names_, rights_, staged_, pass_through_, entries_};
  Removal removal_{parts_, names_, documents_, rights_, staged_};
  Moves moves_{parts_, names_, inodes_, rights_, staged_, pass_through_};
  Publishing publishing_{parts_, inodes_, staged_, second_looks_, removal_};
  std::string notice_;
};

}  // namespace zarrfs
