
// The editor of a schedule. What it says of the schedule is what `collsim check` says, asked again after each change.

const shipped = unpacked('shipped').json();
const patience = 400; // ms without a key, after which a schedule is checked
const place = new RegExp(`${mine}:(\\d+):(\\d+)`);

function showNumbers(bad) {
  const count = $('schedule').value.split('\n').length;
  $('numbers').replaceChildren(...Array.from({ length: count }, (_, i) => {
    const number = document.createElement('span');
    number.textContent = `${i + 1}\n`;
    number.classList.toggle('bad', i + 1 === bad);
    return number;
  }));
  $('numbers').scrollTop = $('schedule').scrollTop;
}

function goTo(line, column) {
  const before = $('schedule').value.split('\n').slice(0, line - 1).join('\n').length + (line > 1 ? 1 : 0);
  $('schedule').focus();
  $('schedule').setSelectionRange(before + column - 1, before + column - 1);
}

/** Shows what `check` says, with a way to the line that it names. */
function showVerdict({ code, out, err }) {
  const text = (out + err).trim().replace(/\n?credits .*$/, '').replace(/^collsim: /, '').replace(/  +/g, '  ');
  const [, line, column] = (text.match(place) ?? []).map(Number);
  $('verdict').classList.toggle('bad', code !== 0);
  $('verdict').textContent = text;
  showNumbers(line);
  if (line === undefined) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = `line ${line}`;
  button.onclick = () => goTo(line, column);
  $('verdict').prepend(button);
}

const questionOf = { check: () => ['check', '-a', mine, '--ranks', $('checked').value],
  play: () => ['view', $('track').value, '-a', mine, '-b', '64K', '--output', 'view.html'],
  race: () => ['run', $('track').value, '-a', `${mine},ring,tree`, '-b', '64K', '-e', '64M', '-f', '4', '--format', 'html'] };

let checking;

function edited() {
  files.set(mine, new TextEncoder().encode($('schedule').value));
  showFiles();
  showNumbers();
  showLine($('command').value);
  clearTimeout(checking);
  checking = setTimeout(async () => {
    if (!$('cancel').disabled) { edited(); return; } // a question is being answered
    const text = $('schedule').value;
    const answer = await answerTo(questionOf.check());
    if (text === $('schedule').value) showVerdict(answer);
  }, patience);
}

/** Puts the schedule that a question names into the editor: the text that came with it, or one of the lessons'. */
async function openSchedule(words, text) {
  const named = words.flatMap((word) => word.split(','));
  const lesson = named.find((word) => word in schedules);
  if (text === '' && lesson === undefined) return;
  $('editor').open = true;
  $('schedule').value = text || schedules[lesson];
  const ranks = words.indexOf('--ranks');
  if (ranks > 0) $('checked').value = words[ranks + 1];
  if (lesson !== undefined) {
    files.set(lesson, new TextEncoder().encode(schedules[lesson]));
    $('schedules').value = lesson;
  }
  edited();
}

let schedules = {};
for (const [id, words] of Object.entries(questionOf)) {
  $(id).onclick = () => { showInForm([words()]); showLine(`collsim ${lineOf(words())}`); ask().then(() => $('answer').scrollIntoView()); };
}
$('schedule').oninput = edited;
$('schedule').onscroll = () => { $('numbers').scrollTop = $('schedule').scrollTop; };
$('checked').oninput = edited;
$('schedules').onchange = () => { $('schedule').value = schedules[$('schedules').value]; edited(); };
$('editor').ontoggle = () => { if ($('schedule').value === '') $('schedules').onchange(); };

$('status').textContent = 'opening the engine…';
shipped.then((all) => {
  schedules = all;
  $('schedules').replaceChildren(...Object.keys(schedules).map((name) => new Option(name)));
  $('schedules').value = 'ring.yaml';
  return questionOfAddress();
}).then(fillLists).catch((error) => { $('messages').textContent = `The engine cannot be opened: ${error.message}`; });
