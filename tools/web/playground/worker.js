// What comes after collsim.js and engine.js in the worker: opens an engine, and answers one question after the other.
let ask;
onmessage = async ({ data: { open, question } }) => {
  if (open) {
    ask = await openEngine(createCollsim, open.compiled, open.files);
    postMessage({ ready: true });
  } else {
    postMessage({ answer: ask(question) });
  }
};
