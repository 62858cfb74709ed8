// JSME in a frame: it calls jsmeOnLoad when it is there.

let editor;

function jsmeOnLoad() {
  editor = new JSApplet.JSME("editor", "100%", "100%", { options: "newlook,nocanonize,noautoez" });
  parent.postMessage({ ready: true }, location.origin);
}
window.jsmeOnLoad = jsmeOnLoad;

addEventListener("message", (event) => {
  if (event.origin !== location.origin || !editor) return;
  if (event.data.take) parent.postMessage({ smiles: editor.smiles() }, location.origin);
  else if (event.data.smiles) editor.readGenericMolecularInput(event.data.smiles);
});
