// The page: one clock, its controls, and a column per call.

import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { readAddress, type Seen, writeAddress } from './address';
import { CallView, nextEvent, showsLogic } from './callview';
import { type Hint, timeText } from './canvas';
import type { View } from './data';
import { Play } from './play';

/** A whole call takes so many seconds at speed 1. */
const secondsPerCall = 20;
const speeds = [0.1, 0.25, 0.5, 1, 2, 4];

export function App({ view }: { view: View }) {
  const plays = useMemo(() => view.calls.map((call) => new Play(call)), [view]);
  // For whoever asks from the browser's console, and for tests.
  (globalThis as { collsim?: unknown }).collsim = { view, plays };
  const wholeTime = Math.max(...view.calls.map((call) => call.time));
  const channels = Math.max(...view.calls.map((call) => call.channels));
  const usual: Seen = { time: 0, channel: 0, rank: -1, speed: 1, begin: 0, end: 0, picture: 0, path: 0 };
  const [seen, setSeen] = useState(() => readAddress(location.hash, usual));
  const [playing, setPlaying] = useState(false);
  const [hint, setHint] = useState<Hint | null>(null);
  const [rate, setRate] = useState(0);

  const change = useCallback(
    (part: Partial<Seen>) =>
      setSeen((before) => {
        const after = { ...before, ...part };
        after.time = Math.min(Math.max(after.time, 0), wholeTime);
        return after;
      }),
    [wholeTime],
  );
  useEffect(() => {
    const timer = setTimeout(() => history.replaceState(null, '', writeAddress(seen)), 200);
    return () => clearTimeout(timer);
  }, [seen]);
  useEffect(() => {
    const follow = () => setSeen(readAddress(location.hash, usual));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  });
  usePlayback(playing, seen, wholeTime, change, setPlaying, setRate);

  const step = (forward: boolean, count = 1) => {
    let time = seen.time;
    for (let i = 0; i < count; ++i) time = nextEvent(plays, seen.channel, time, forward);
    setPlaying(false);
    change({ time });
  };
  const togglePlay = () => {
    if (!playing && seen.time >= wholeTime) change({ time: 0 });
    setPlaying(!playing);
  };
  const logical = plays.some((play) => showsLogic(play, seen));
  const turnPicture = () => change({ picture: logical ? 2 : 1 });
  useKeys((key, shift) => {
    if (key === ' ') togglePlay();
    else if (key === 'ArrowRight') step(true, shift ? 10 : 1);
    else if (key === 'ArrowLeft') step(false, shift ? 10 : 1);
    else if (key === 'Home') change({ time: 0 });
    else if (key === 'End') change({ time: wholeTime });
    else if (key === 'c') change({ channel: (seen.channel + 1) % channels });
    else if (key === 'w') turnPicture();
    else if (key === 'p') change({ path: 1 - seen.path });
    else if (key === '+') change({ speed: speeds[Math.min(speeds.indexOf(seen.speed) + 1, speeds.length - 1)] });
    else if (key === '-') change({ speed: speeds[Math.max(speeds.indexOf(seen.speed) - 1, 0)] });
    else return false;
    return true;
  });

  return (
    <div class={`page${view.embedded ? ' embedded' : ''}`}>
      <header>
        <h1>{view.title}</h1>
        {!view.embedded && <code>{view.command}</code>}
        <div class="controls">
          <button type="button" id="play" onClick={togglePlay} aria-pressed={playing}>
            {playing ? 'Pause' : 'Play'}
          </button>
          <button type="button" id="back" onClick={() => step(false)} aria-label="one step back">
            &lt;
          </button>
          <button type="button" id="forward" onClick={() => step(true)} aria-label="one step on">
            &gt;
          </button>
          <input
            type="range"
            id="time"
            aria-label="time"
            min={0}
            max={wholeTime}
            step="any"
            value={seen.time}
            onInput={(event) => change({ time: Number(event.currentTarget.value) })}
          />
          <span class="clock" id="clock">
            {timeText(seen.time)} of {timeText(wholeTime)}
          </span>
          <label>
            channel{' '}
            <select id="channel" value={seen.channel} onChange={(event) => change({ channel: Number(event.currentTarget.value) })}>
              <option value={-1}>all</option>
              {Array.from({ length: channels }, (_, channel) => (
                <option key={channel} value={channel}>
                  {channel}
                </option>
              ))}
            </select>
          </label>
          <label>
            speed{' '}
            <select id="speed" value={seen.speed} onChange={(event) => change({ speed: Number(event.currentTarget.value) })}>
              {speeds.map((speed) => (
                <option key={speed} value={speed}>
                  {speed}
                </option>
              ))}
            </select>
          </label>
          <span class="tabs" role="group" aria-label="picture">
            <button type="button" id="logic" aria-pressed={logical} onClick={() => change({ picture: 1 })}>
              algorithm
            </button>
            <button type="button" id="wiring" aria-pressed={!logical} onClick={() => change({ picture: 2 })}>
              wiring
            </button>
          </span>
          <button type="button" id="path" aria-pressed={seen.path === 1} onClick={() => change({ path: 1 - seen.path })}>
            critical path
          </button>
          <button type="button" id="whole" onClick={() => change({ begin: 0, end: 0 })} disabled={seen.end === 0}>
            whole call
          </button>
        </div>
      </header>
      <main>
        {plays.map((play) => (
          <CallView
            key={play.call.name}
            machine={view.machine}
            play={play}
            seen={seen}
            wholeTime={wholeTime}
            change={change}
            showHint={setHint}
          />
        ))}
      </main>
      <footer>
        <kbd>space</kbd> plays, <kbd>←</kbd> <kbd>→</kbd> step (with <kbd>shift</kbd> ten), <kbd>w</kbd> algorithm or
        wiring, <kbd>p</kbd> critical path, <kbd>c</kbd> next channel, <kbd>+</kbd> <kbd>-</kbd> speed,{' '}
        <kbd>Home</kbd> <kbd>End</kbd>; the wheel zooms the timeline, a click there sets the time; a click on a node
        folds it. The address holds what you see.{' '}
        <span id="rate">{rate > 0 ? `${rate.toFixed(0)} pictures a second` : ''}</span>
      </footer>
      {hint && (
        <div class="hint" style={{ left: Math.min(hint.x + 12, innerWidth - 430), top: hint.y + 12 }}>
          {hint.lines.map((line) => (
            <div key={line}>{line}</div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Lets the clock run while it plays, and counts pictures. */
function usePlayback(
  playing: boolean,
  seen: Seen,
  wholeTime: number,
  change: (seen: Partial<Seen>) => void,
  setPlaying: (playing: boolean) => void,
  setRate: (rate: number) => void,
) {
  const now = useRef(seen);
  now.current = seen;
  useEffect(() => {
    if (!playing) return undefined;
    let last = performance.now();
    let counted = last;
    let pictures = 0;
    let frame = 0;
    const tick = (at: number) => {
      const time = now.current.time + ((at - last) / 1000) * (wholeTime / secondsPerCall) * now.current.speed;
      last = at;
      ++pictures;
      if (at - counted >= 1000) {
        setRate((pictures * 1000) / (at - counted));
        counted = at;
        pictures = 0;
      }
      change({ time });
      if (time >= wholeTime) setPlaying(false);
      else frame = requestAnimationFrame(tick);
    };
    frame = requestAnimationFrame((at) => {
      last = at;
      counted = at;
      tick(at);
    });
    return () => cancelAnimationFrame(frame);
  }, [playing, wholeTime]);
}

function useKeys(handle: (key: string, shift: boolean) => boolean) {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof HTMLInputElement && event.key !== ' ') event.target.blur();
      if (handle(event.key, event.shiftKey)) event.preventDefault();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  });
}
