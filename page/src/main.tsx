import { render } from "preact";
import "@preact/signals"; // components follow the signals that they read
import { App } from "./ui/App";
import { start } from "./ui/state";

const root = document.getElementById("page");
if (root) {
  start();
  render(<App />, root);
}
