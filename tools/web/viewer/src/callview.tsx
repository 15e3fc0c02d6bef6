// One call: the machine, its buffers, its timeline, and the arithmetic of the latest slices.

import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Seen } from './address';
import { BufferPicture } from './buffers';
import { bytesText, type Hint, timeText } from './canvas';
import { stateColours, stateNames } from './colours';
import type { Machine } from './data';
import { flowOf, LogicPicture, pathOf } from './logic';
import { MachinePicture } from './machine';
import { lastAt, type Play, type State } from './play';
import { TimelinePicture } from './timeline';

interface Props {
  machine: Machine;
  play: Play;
  seen: Seen;
  wholeTime: number;
  change: (seen: Partial<Seen>) => void;
  showHint: (hint: Hint | null) => void;
}

/** Names of what is faulty, a few of many. */
function faultyNames(machine: Machine, play: Play): string[] {
  const most = 4;
  const { faultyLinks, faultyRanks } = play.call;
  const names = [
    ...machine.links.filter((link) => faultyLinks.includes(link.id)).map((link) => link.name),
    ...faultyRanks.map((rank) => `rank ${rank}`),
  ];
  return names.length > most ? [...names.slice(0, most), `and ${names.length - most} more`] : names;
}

/** Whether a call is shown by its logic: unless the wiring is asked for, or where faults of the wiring matter. */
export function showsLogic(play: Play, seen: Seen): boolean {
  if (!flowOf(play, seen.channel) || seen.picture === 2) return false;
  return seen.picture === 1 || play.call.faultyLinks.length === 0;
}

/** Which messages the end of the call waited for. */
function pathWords(play: Play): string {
  const { hops } = pathOf(play);
  const most = 20;
  const name = (participant: number) => (participant < play.call.ranks ? String(participant) : 'switch');
  const ranks = hops.length > 0 ? [name(hops[0][0]), ...hops.map(([, to]) => name(to))] : [];
  const shown = ranks.length > most ? [...ranks.slice(0, most), '...'] : ranks;
  return `critical path, ${hops.length} messages: ${shown.join(' > ')}`;
}

export function CallView({ machine, play, seen, wholeTime, change, showHint }: Props) {
  const machineCanvas = useRef<HTMLCanvasElement>(null);
  const bufferCanvas = useRef<HTMLCanvasElement>(null);
  const timelineCanvas = useRef<HTMLCanvasElement>(null);
  const pictures = useMemo(
    () => ({
      machine: new MachinePicture(machine, play),
      buffers: new BufferPicture(play),
      timeline: new TimelinePicture(play),
    }),
    [machine, play],
  );
  const window = { begin: seen.begin, end: seen.end > seen.begin ? seen.end : wholeTime };
  const logical = showsLogic(play, seen);
  const draw = () => {
    if (machineCanvas.current) pictures.machine.draw(machineCanvas.current, seen.time, seen.channel);
    pictures.buffers.draw(bufferCanvas.current!, seen.time, seen.channel, seen.rank);
    if (timelineCanvas.current) pictures.timeline.draw(timelineCanvas.current, seen.time, seen.channel, window, seen.rank, seen.path === 1);
  };
  useEffect(draw);
  useEffect(() => {
    globalThis.addEventListener('resize', draw);
    return () => globalThis.removeEventListener('resize', draw);
  });

  const hintFrom = (event: MouseEvent, lines: string[]) =>
    showHint(lines.length > 0 ? { x: event.clientX, y: event.clientY, lines } : null);
  const chooseRank = (participant: number | undefined) => {
    if (participant === undefined) return;
    change({ rank: participant === seen.rank ? -1 : participant });
  };
  const zoom = (event: WheelEvent) => {
    event.preventDefault();
    const at = pictures.timeline.timeAt(timelineCanvas.current!, event.offsetX, window);
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    const begin = Math.max(0, at - (at - window.begin) * factor);
    const end = Math.min(wholeTime, at + (window.end - at) * factor);
    change(begin <= 0 && end >= wholeTime ? { begin: 0, end: 0 } : { begin, end });
  };
  const { call } = play;
  return (
    <section class="call" aria-label={call.name}>
      <h2>
        {call.name}: {timeText(call.time)}
        {seen.time >= call.time ? ', done' : ''}; {bytesText(call.size)}, {call.channels} {call.channels === 1 ? 'channel' : 'channels'}
      </h2>
      {call.wrong && <p class="faults wrong">wrong: {call.wrong}</p>}
      {call.faults.length > 0 && (
        <p class="faults">
          fault: {call.faults.join('; ')}
          {faultyNames(machine, play).map((name) => (
            <span key={name}>{name}</span>
          ))}
        </p>
      )}
      <div class="pictures">
        {logical ? (
          <LogicPicture play={play} channel={seen.channel} time={seen.time} chosen={seen.rank} path={seen.path === 1} />
        ) : (
        <canvas
          ref={machineCanvas}
          class="machine"
          role="img"
          aria-label="the machine"
          onMouseMove={(event) => hintFrom(event, pictures.machine.hint({ x: event.offsetX, y: event.offsetY }, seen.time))}
          onMouseLeave={() => showHint(null)}
          onClick={(event) => {
            if (pictures.machine.click({ x: event.offsetX, y: event.offsetY })) draw();
          }}
        />
        )}
        <canvas
          ref={bufferCanvas}
          class="buffers"
          role="img"
          aria-label="the buffers of all ranks"
          onMouseMove={(event) =>
            hintFrom(event, pictures.buffers.hint(bufferCanvas.current!, event.offsetX, event.offsetY, seen.time, seen.channel))
          }
          onMouseLeave={() => showHint(null)}
        />
      </div>
      <canvas
        ref={timelineCanvas}
        class="timeline"
        role="img"
        aria-label="what each rank does over time"
        onMouseMove={(event) =>
          hintFrom(event, pictures.timeline.hint(timelineCanvas.current!, event.offsetX, event.offsetY, window))
        }
        onMouseLeave={() => showHint(null)}
        onWheel={zoom}
        onClick={(event) => {
          if (event.offsetX < 92) chooseRank(pictures.timeline.rowAt(timelineCanvas.current!, event.offsetY)?.participant);
          else change({ time: Math.max(0, pictures.timeline.timeAt(timelineCanvas.current!, event.offsetX, window)) });
        }}
      />
      {seen.path === 1 && <p class="path">{pathWords(play)}</p>}
      <Legend />
      <Log play={play} seen={seen} />
    </section>
  );
}

function Legend() {
  return (
    <div class="legend">
      {(Object.keys(stateNames) as State[]).map((state) => (
        <span key={state}>
          <i style={{ background: stateColours[state] }} />
          {stateNames[state]}
        </span>
      ))}
      <span>
        <i style={{ background: 'var(--adds)' }} />
        arrow: added
      </span>
      <span>
        <i style={{ background: 'var(--copies)' }} />
        arrow: copied; a stripe in a rank's colour: its contribution
      </span>
      <span>
        <i style={{ background: 'linear-gradient(90deg, #56b4e9, #d55e00)' }} />
        links: idle to full
      </span>
    </div>
  );
}

/** The arithmetic of the latest slices on the channel, or of one rank's. */
function Log({ play, seen }: { play: Play; seen: Seen }) {
  const channel = Math.max(seen.channel, 0);
  const { begin, bytes } = play.call.records;
  const lines = play
    .latest(channel, seen.time, 60)
    .filter((record) => seen.rank < 0 || play.participantOf(record) === seen.rank)
    .slice(0, 8)
    .map(
      (record) =>
        `${timeText(begin[record])} ${play.call.participants[play.participantOf(record)]}: ${play.workName(record)}: ` +
        `${play.arithmetic(record)} (${bytesText(bytes[record])})`,
    );
  return <pre class="log">{lines.join('\n') || 'launch'}</pre>;
}

/** The next time after, or last before, at which something begins or ends on the channel. */
export function nextEvent(plays: Play[], channel: number, time: number, forward: boolean): number {
  let best = forward ? Infinity : 0;
  const tiny = 1e-7;
  for (const play of plays) {
    const events = play.eventsOf(Math.max(channel, 0));
    const index = forward ? lastAt(events, time + tiny) + 1 : lastAt(events, time - tiny);
    if (index < 0 || index >= events.length) continue;
    best = forward ? Math.min(best, events[index]) : Math.max(best, events[index]);
  }
  return Number.isFinite(best) ? best : time;
}
