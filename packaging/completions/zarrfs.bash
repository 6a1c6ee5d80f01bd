# bash completion of zarrfs
_zarrfs() {
  # bash takes "=" for the end of a word: the words are taken from the line.
  local line=${COMP_LINE:0:COMP_POINT} flags='' values=''
  local word=${line##* } before=${line% *}
  before=${before##* }
  if [[ $before == -o && ${COMP_WORDS[1]} != @(show|map|refs) ]]; then
    local done='' last=${word##*,}
    [[ $word == *,* ]] && done=${word%,*},
    if [[ $last == *=* ]]; then
      case ${last%%=*} in
      writers) values='one many' ;;
      symlinks) values='inside follow' ;;
      view) values='v2 v3' ;;
      separator) values='. / dot slash' ;;
      materialise) values='off lookup list' ;;
      watch) values='auto off' ;;
      addressing) values='path host' ;;
      absent) values='404 403' ;;
      flush) values='close later' ;;
      validate) values='decode off' ;;
      deletes) values='allow deny' ;;
      foreign_bytes) values='keep drop' ;;
      conflicts) values='last fail' ;;
      fsync) values='keep commit' ;;
      io_uring) values='auto on off' ;;
      log_level) values='error warning info debug' ;;
      profile) values='auto generic xarray ome gdal netcdf' ;;
      esac
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "${last#*=}")
    else
      mapfile -t COMPREPLY < <(compgen -P "$done" -W 'ro rw writers= symlinks= virtual= uid= gid= umask= allow_other allow_root view= profile= separator= materialise= rechunk= immutable timeout= watch= memory= index_cache= decode_memory= read_ahead= direct_io endpoint= region= aws_profile= anonymous requester_pays addressing= ca_file= absent= cache= cache_size= memory_cache= connections= deadline= revalidate= stale_if_error= flush_after= flush= write_buffer= validate= deletes= foreign_bytes= spool= spool_bytes= conflicts= shared shared_lease= shared_caches= fsync= spool_in_memory shards= threads= io_uring= idle= ends_with= temporary log_level= log= exec noexec default_permissions nosuid nodev atime noatime sync dirsync remount' -- "$last")
      compopt -o nospace
    fi
    return
  fi
  case ${COMP_WORDS[1]} in
    mount) flags='-h --help -o --options -f --foreground -v --verbose --help-all' ;;
    umount) flags='-h --help -l --lazy --timeout' ;;
    mounts) flags='-h --help --json' ;;
    sync) flags='-h --help' ;;
    serve) flags='-h --help --listen -o --options --allow-origin --allow-host --token-file --connections --stats --help-all' ;;
    doctor) flags='-h --help --remote --virtual --rw --json' ;;
    info) flags='-h --help --remote --virtual --json --view --profile -j --threads' ;;
    show) flags='-h --help --remote --virtual --slice --axes --field --range --palette --colours -o --output' ;;
    ls) flags='-h --help --remote --virtual -l --long --json' ;;
    cat) flags='-h --help --remote --virtual --view --profile --stored --shown --decoded' ;;
    locate) flags='-h --help --remote --virtual --json' ;;
    verify) flags='-h --help --remote --virtual --part --result --sum --decode --json -j --threads' ;;
    refs) flags='-h --help --remote --virtual -o --output --base --view --profile --separator' ;;
    diff) flags='-h --help --remote --virtual --part --result --sum --limit --attributes --json -j --threads' ;;
    shard) flags='-h --help --remote --virtual --target-remote --in-place --fill-value-is-missing --symlinks --parts --json --check --discard -j --threads --shard-shape --shard-chunks --shard-bytes --begin --part --finish --status' ;;
    unshard) flags='-h --help --remote --virtual --target-remote --in-place --format --profile --fill-value-is-missing --symlinks --parts --json --check --discard -j --threads --begin --part --finish --status' ;;
    reshard) flags='-h --help --remote --virtual --target-remote --in-place --fill-value-is-missing --symlinks --parts --json --check --discard -j --threads --shard-shape --shard-chunks --shard-bytes --begin --part --finish --status' ;;
    compact) flags='-h --help --min-dead --foreign-bytes -n --dry-run -j --threads' ;;
    mark) flags='-h --help' ;;
    recover) flags='-h --help' ;;
    map) flags='-h --help --remote --virtual --show --axes --at -o --output --square --colours --decode -j --threads' ;;
    stats) flags='-h --help --json --prometheus --every' ;;
    profiles) flags='-h --help' ;;
  esac
  case $before in
    --profile) values='auto generic xarray ome gdal netcdf' ;;
    --view) values='v2 v3' ;;
    --palette) values='viridis grey' ;;
    --colours) values='auto none 256 24bit' ;;
    --separator) values='dot slash' ;;
    --fill-value-is-missing) values='auto yes no' ;;
    --symlinks) values='inside follow' ;;
    --format) values='v2 v3' ;;
    --foreign-bytes) values='keep drop' ;;
    --show) values='presence size compression dead' ;;
  esac
  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'mount umount mounts sync serve doctor info show ls cat locate verify refs diff shard unshard reshard compact mark recover map stats profiles' -- "$word"; compgen -d -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _zarrfs zarrfs
