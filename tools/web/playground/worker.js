// What comes after collsim.js and engine.js in the worker: opens an engine, and answers one question after the other.
let engine;
onmessage = async ({ data: { open, more, question } }) => {
  if (open) {
    engine = await openEngine(createCollsim, open.compiled, open.files, (progress) => postMessage({ progress }));
    postMessage({ ready: true });
  } else if (more) {
    engine.add(more);
  } else {
    postMessage({ answer: engine.ask(question) });
  }
};
