# bash completion of zarrfs
_zarrfs() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags=''
  if [[ $before == -o ]]; then
    local done='' last=$word
    [[ $word == *,* ]] && done=${word%,*}, last=${word##*,}
    mapfile -t COMPREPLY < <(compgen -P "$done" -W 'ro rw symlinks= uid= gid= umask= allow_other allow_root view= profile= separator= materialise= rechunk= compressors= filters= types= big_endian= fortran= clamp_chunks= zero_dimensions= scalars= fill= dimension_names= ome04= nested_attributes= immutable timeout= index_cache= read_ahead= flush_after= flush= write_buffer= validate= deletes= shard_shape= shard_chunks= shard_bytes= threads= log_level= log= exec noexec nosuid nodev atime noatime sync dirsync remount' -- "$last")
    compopt -o nospace
    return
  fi
  case ${COMP_WORDS[1]} in
    mount) flags='-h --help -o --options -f --foreground -v --verbose' ;;
    umount) flags='-h --help' ;;
    sync) flags='-h --help' ;;
    doctor) flags='-h --help --json' ;;
    info) flags='-h --help --json --view --profile -j --threads' ;;
    ls) flags='-h --help -l --long --json' ;;
    cat) flags='-h --help --view --profile -h --help --stored --shown --decoded' ;;
    locate) flags='-h --help --json' ;;
    verify) flags='-h --help --decode --json -j --threads' ;;
    refs) flags='-h --help -o --output --base --view --profile' ;;
    diff) flags='-h --help --limit --json -j --threads' ;;
    shard) flags='-h --help --in-place --check --discard -j --threads -h --help --shard-shape --shard-chunks --shard-bytes' ;;
    unshard) flags='-h --help --in-place --format --profile --check --discard -j --threads' ;;
    reshard) flags='-h --help --in-place --check --discard -j --threads -h --help --shard-shape --shard-chunks --shard-bytes' ;;
    compact) flags='-h --help --min-dead -n --dry-run -j --threads' ;;
    recover) flags='-h --help' ;;
    map) flags='-h --help --show --axes --at -o --output --square --decode -j --threads' ;;
    stats) flags='-h --help --json --every' ;;
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'mount umount sync doctor info ls cat locate verify refs diff shard unshard reshard compact recover map stats' -- "$word"; compgen -d -- "$word")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _zarrfs zarrfs
