// Runs Perfetto's trace processor, built for browsers' workers, as a program: requests come on
// stdin (each after its length, 4 bytes), replies go to stdout as they are.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const folder = process.argv[2];
console.log = console.warn = console.error;
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
process.type = "renderer"; // else it refuses: this is not the browser that it was built for
globalThis.location = { href: "file:///engine_bundle.js" };
globalThis.XMLHttpRequest = class {
  open(_method, url) {
    this.url = url;
  }
  send() {
    this.status = 200;
    this.response = new Uint8Array(fs.readFileSync(path.join(folder, path.basename(this.url)))).buffer;
  }
};
const engine = path.join(folder, "engine_bundle.js");
vm.runInThisContext(fs.readFileSync(engine, "utf8"), { filename: engine, displayErrors: false });

const port = {
  postMessage(reply) {
    for (let at = 0; at < reply.length; ) at += fs.writeSync(1, reply, at);
  },
};
self.onmessage({ data: port });

let held = Buffer.alloc(0);
process.stdin.on("data", (bytes) => {
  held = Buffer.concat([held, bytes]);
  while (held.length >= 4 && held.length >= 4 + held.readUInt32LE(0)) {
    const end = 4 + held.readUInt32LE(0);
    port.onmessage({ data: new Uint8Array(held.subarray(4, end)) });
    held = held.subarray(end);
  }
});
