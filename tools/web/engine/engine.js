// The command as a function: arguments and files in, what it prints out. Runs in a worker of the page and in Node.

/** Thrown by exit(), abort() and what else ends the command without an answer. */
const exitCodeOfEnd = 3;

/**
 * An engine from what the compiler made (createCollsim, a compiled WebAssembly.Module) and the data of collsim, by path.
 * It is a promise of two functions. ask({args, files}) answers {code, out, err, broken, missed}: `files` is a list of
 * [name, bytes] that the arguments may name, a broken engine answers nothing more, and what missed recordings has to be asked
 * again after add(data), which gives them. `hear` is told what the command says of how far it is.
 */
async function openEngine(createCollsim, compiled, data, hear = () => {}) {
  const printed = { stdout: '', stderr: '' };
  const module = await createCollsim({
    stdin: () => null,
    stdout: () => {},
    stderr: () => {},
    instantiateWasm(imports, receive) {
      WebAssembly.instantiate(compiled, imports).then((instance) => receive(instance, compiled));
      return {};
    },
  });
  const { FS } = module;
  const whenWritten = (device, take) => {
    const decoder = new TextDecoder();
    FS.getDevice(FS.lookupPath(`/dev/${device}`).node.rdev).stream_ops.write = (_, buffer, offset, length) => {
      take(decoder.decode(buffer.slice(offset, offset + length), { stream: true }));
      return length;
    };
  };
  whenWritten('stdout', (text) => { printed.stdout += text; });
  // As on a terminal, a sequence clears the line that says how far the command is; what comes next is that line, if no message.
  FS.getStream(2).tty = true;
  let isCleared = false;
  whenWritten('stderr', (text) => {
    if (text === '') return;
    const clears = text.startsWith('\r\x1b[K');
    if (isCleared && !clears && !text.startsWith('collsim: ') && !text.endsWith('\n')) hear(text);
    else if (!clears) printed.stderr += text;
    isCleared = clears;
  });
  const utf8 = new TextEncoder(); // FS.writeFile() of a text would take each letter apart
  const put = (file, content) => {
    FS.mkdirTree(file.slice(0, file.lastIndexOf('/')));
    FS.writeFile(file, content);
  };
  const add = (more) => { for (const [file, text] of Object.entries(more)) put(`/collsim/${file}`, utf8.encode(text)); };
  add(data);
  let missed = false;
  if (!FS.analyzePath('/collsim/recordings').exists) {
    FS.mkdir('/collsim/recordings');
    const { node } = FS.lookupPath('/collsim/recordings');
    const ops = node.node_ops;
    const noting = (call) => (...args) => { missed = true; return call(...args); };
    node.node_ops = { ...ops, lookup: noting(ops.lookup), readdir: noting(ops.readdir) };
  }

  let folders = 0;
  function ask({ args, files = [] }) {
    Object.assign(printed, { stdout: '', stderr: '' });
    missed = false;
    const folder = `/question${++folders}`; // so that nothing of the last question is found
    FS.mkdirTree(folder);
    FS.chdir(folder);
    for (const [name, content] of files) put(`${folder}/${name}`, content);
    let code = exitCodeOfEnd;
    let broken = false;
    try {
      code = module.callMain(args);
    } catch (error) {
      broken = true;
      printed.stderr += `collsim: ended: ${error.message ?? error}\n`;
    }
    const names = new Set(files.map(([name]) => name));
    const written = FS.readdir(folder).filter((name) => !name.startsWith('.') && !names.has(name))
      .map((name) => [name, FS.readFile(`${folder}/${name}`)]);
    for (const name of FS.readdir(folder)) {
      if (name !== '.' && name !== '..' && FS.isFile(FS.stat(`${folder}/${name}`).mode)) FS.unlink(`${folder}/${name}`);
    }
    return { code, out: printed.stdout, err: printed.stderr, written, broken, missed, memory: module.HEAPU8?.length };
  }
  return { ask, add };
}
