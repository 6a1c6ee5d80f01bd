#include "core/view/view.h"

namespace zarrfs {

namespace {
tl::unexpected<Error> read_only() {
  return fail(Fault::kReadOnly, "the store is mounted read-only");
}
}  // namespace

Result<void> OpenFile::write(std::uint64_t, ByteView) { return read_only(); }
Result<void> OpenFile::resize(std::uint64_t) { return read_only(); }
Result<Created> View::create(NodeId, std::string_view, int, mode_t) { return read_only(); }
Result<std::shared_ptr<OpenFile>> View::open_for_writing(NodeId, int) { return read_only(); }
Result<InodeEntry> View::change(NodeId, const AttributeChange&, OpenFile*) { return read_only(); }
Result<InodeEntry> View::make_directory(NodeId, std::string_view, mode_t) { return read_only(); }
Result<bool> View::remove_file(NodeId, std::string_view) { return read_only(); }
Result<bool> View::remove_directory(NodeId, std::string_view) { return read_only(); }
Result<bool> View::rename(NodeId, std::string_view, NodeId, std::string_view, bool) {
  return read_only();
}
Result<InodeEntry> View::make_link(NodeId, std::string_view, const std::string&) {
  return read_only();
}
Result<std::string> View::read_link(NodeId) {
  return fail(Fault::kInvalid, "it is no symbolic link");
}
Result<InodeEntry> View::link(NodeId, NodeId, std::string_view) { return read_only(); }
Result<void> View::sync(NodeId /*node*/) { return {}; }
Result<void> View::publish() { return {}; }

}  // namespace zarrfs
