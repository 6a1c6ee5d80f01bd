#include <cstdio>

int main() {
  std::puts("zarrfs " ZARRFS_VERSION);
  return 0;
}
