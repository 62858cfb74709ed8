// The drawing editor lives in a frame of its own; a message carries the molecule back and forth.

import { $, show } from "/page/dom.js";

export function setUpBoard(isThere, onMolecule) {
  show($("draw"), isThere);
  show($("no-editor"), !isThere);
  if (!isThere) return;
  const frame = $("board-frame");
  let isReady = false;
  const give = () => frame.contentWindow.postMessage({ smiles: $("smiles").value.trim() }, location.origin);
  addEventListener("message", (event) => {
    if (event.origin !== location.origin || event.source !== frame.contentWindow) return;
    if (event.data.ready) {
      isReady = true;
      give();
    } else if (typeof event.data.smiles === "string") {
      $("board").close();
      if (event.data.smiles) onMolecule(event.data.smiles);
    }
  });
  $("draw").addEventListener("click", () => {
    if (!frame.src) frame.src = "/editor";
    show(frame, true);
    $("board").showModal();
    if (isReady) give();
  });
  $("board-take").addEventListener("click", () => frame.contentWindow.postMessage({ take: true }, location.origin));
  $("board-close").addEventListener("click", () => $("board").close());
}
