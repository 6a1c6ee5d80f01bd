// read_viv.mjs URL: what Viv's loader reads of the OME-Zarr image that a server has there: the shape of each level, and the sum of each
// plane's pixels, all planes of the image, as JSON.
import { loadOmeZarr } from "@vivjs/loaders";

const { data } = await loadOmeZarr(process.argv[2], { type: "multiscales" });
const levels = [];
for (const level of data) {
  const wide = level.labels.slice(0, -2);
  let sum = 0;
  const walk = async (selection, rest) => {
    if (rest.length > 0) {
      const size = level.shape[level.labels.indexOf(rest[0])];
      for (let at = 0; at < size; ++at) await walk({ ...selection, [rest[0]]: at }, rest.slice(1));
      return;
    }
    const plane = await level.getRaster({ selection });
    for (const value of plane.data) sum += Number(value);
  };
  await walk({}, wide);
  levels.push({ shape: level.shape, labels: level.labels, dtype: level.dtype, sum });
}
console.log(JSON.stringify(levels));
