// What Viv shows of the OME-Zarr image at ?image=URL. Bundled with Viv by esbuild (tests/gallery/install); the title says when it is shown.
import React from "react";
import { createRoot } from "react-dom/client";
import { getChannelStats, loadOmeZarr, PictureInPictureViewer } from "@hms-dbmi/viv";

const { data } = await loadOmeZarr(new URLSearchParams(window.location.search).get("image"), { type: "multiscales" });
const [base] = data;
const selection = {};
base.labels.slice(0, -2).forEach((axis, i) => { selection[axis] = axis === "z" ? Math.floor(base.shape[i] / 2) : 0; });
const plane = await base.getRaster({ selection });
const { mean } = getChannelStats(plane.data);
createRoot(document.getElementById("root")).render(React.createElement(PictureInPictureViewer, {
  loader: data, contrastLimits: [[0, 900]], colors: [[255, 255, 255]], channelsVisible: [true], selections: [selection],
  height: window.innerHeight, width: window.innerWidth, overview: {}, overviewOn: false,
  onViewportLoad: () => { document.title = `shown: ${plane.width}x${plane.height}, mean ${mean.toFixed(6)}`; },
}));
