// Reads one Zarr v2 array with zarrita.js, for read_store.py: read_zarrita.mjs ARRAY. Prints its type, shape, strides and data
// (base64). Numbers only. Run it in the folder where packaging/install-test-readers puts zarrita.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const load = (name) => {
  const folder = join(process.cwd(), "node_modules", name);
  const { exports } = JSON.parse(readFileSync(join(folder, "package.json")));
  const entry = exports["."] ?? exports;
  return import(pathToFileURL(join(folder, entry.import ?? entry)));
};
const zarr = await load("zarrita");
const { FileSystemStore } = await load("@zarrita/storage");

const array = await zarr.open.v2(new FileSystemStore(process.argv[2]), { kind: "array" });
const { data, shape, stride } = await zarr.get(array);
if (!ArrayBuffer.isView(data)) throw new Error(`type ${array.dtype}: not read by this test`);
const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
console.log(JSON.stringify({ dtype: array.dtype, shape, stride, bytes }));
