#include "fs/commands.h"

#include "fs/doctor/doctor_command.h"
#include "fs/mount_command.h"
#include "fs/mounts_command.h"
#include "fs/serve/serve_command.h"
#include "fs/sync_command.h"
#include "fs/umount_command.h"

namespace zarrfs {

Commands mount_commands() {
  Commands commands;
  commands.push_back(std::make_unique<MountCommand>());
  commands.push_back(std::make_unique<UmountCommand>());
  commands.push_back(std::make_unique<MountsCommand>());
  commands.push_back(std::make_unique<SyncCommand>());
  commands.push_back(std::make_unique<ServeCommand>());
  commands.push_back(std::make_unique<DoctorCommand>());
  return commands;
}

}  // namespace zarrfs
