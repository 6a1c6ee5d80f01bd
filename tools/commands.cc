#include "tools/commands.h"

namespace zarrfs::tools {

Commands tool_commands() {
  Commands commands;
  commands.push_back(info_command());
  commands.push_back(show_command());
  commands.push_back(ls_command());
  commands.push_back(cat_command());
  commands.push_back(locate_command());
  commands.push_back(verify_command());
  commands.push_back(refs_command());
  commands.push_back(diff_command());
  commands.push_back(shard_command());
  commands.push_back(unshard_command());
  commands.push_back(reshard_command());
  commands.push_back(compact_command());
  commands.push_back(mark_command());
  commands.push_back(recover_command());
  commands.push_back(map_command());
  commands.push_back(stats_command());
  commands.push_back(profiles_command());
  return commands;
}

}  // namespace zarrfs::tools
