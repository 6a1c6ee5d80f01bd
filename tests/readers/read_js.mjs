// Reads Zarr arrays with JavaScript libraries, for read_store.py:
//   read_js.mjs zarrita|zarrita3|zarrjs
// For each path on standard input one line: its type, shape, strides and data (base64), or {"error": ...}. Numbers only. Run it
// in the folder where packaging/install-test-readers puts the library.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const load = (name) => {
  const folder = join(process.cwd(), "node_modules", name);
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json")));
  const entry = exports["."] ?? exports;
  return import(pathToFileURL(join(folder, entry.import ?? entry)));
};

async function zarrita(version) {
  const zarr = await load("zarrita");
  const { FileSystemStore } = await load("@zarrita/storage");
  return async (path) => {
    const array = await zarr.open[version](new FileSystemStore(path), { kind: "array" });
    const got = await zarr.get(array);
    if (typeof got === "bigint") return { number: String(got) };
    if (typeof got === "number" || typeof got === "boolean") return { number: got };
    return { dtype: array.dtype, data: got?.data, shape: got?.shape, stride: got?.stride };
  };
}

async function zarrjs() {
  const zarr = await load("zarr");
  const folder = (root) => ({
    containsItem: (key) => existsSync(join(root, key)),
    getItem: (key) => {
      try {
        return readFileSync(join(root, key));
      } catch (error) {
        if (error.code === "ENOENT") throw new zarr.KeyError(key);
        throw error;
      }
    },
  });
  return async (path) => {
    const array = await zarr.openArray({ store: folder(path), mode: "r" });
    const raw = await array.getRaw(null);
    return typeof raw === "number" ? { number: raw } : { dtype: array.dtype, data: raw.data, shape: raw.shape, stride: raw.strides };
  };
}

// Chunks of an array that has failed may fail after the answer: they must not take the next array with them.
process.on("unhandledRejection", () => {});

const read = await { zarrita: () => zarrita("v2"), zarrita3: () => zarrita("v3"), zarrjs }[process.argv[2]]();
for await (const path of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const { number, dtype, data, shape, stride } = await read(path);
    if (number === undefined && !ArrayBuffer.isView(data)) throw new Error(`type ${dtype}: not read by this test`);
    const bytes = data && Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
    answer = { number, dtype, shape, stride, bytes, kind: data?.constructor.name };
  } catch (error) {
    answer = { error: String(error.message ?? error) };
  }
  console.log(JSON.stringify(answer));
}
