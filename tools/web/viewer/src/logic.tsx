// The logical picture: who sends which chunk to whom, whatever the wires.

import { useEffect, useRef, useState } from 'preact/hooks';
import { captionOf } from './captions';
import { originColour } from './colours';
import { criticalPath, Flow, type Moving } from './flow';
import { type Edge, layOut, type Layout, type Panel, type Spot } from './layout';
import type { Play } from './play';

interface Props {
  play: Play;
  channel: number;
  time: number;
  chosen: number;
  path: boolean; // whether the critical path is marked
}

interface Point {
  x: number;
  y: number;
}

const flows = new WeakMap<Play, Map<number, Flow>>();
const paths = new WeakMap<Play, ReturnType<typeof criticalPath>>();

/** The steps of a channel; nothing where the page has none. */
export function flowOf(play: Play, channel: number): Flow | null {
  const plan = play.call.plans[play.call.planOfChannel[Math.max(channel, 0)] ?? 0];
  if (!plan) return null;
  const own = flows.get(play) ?? new Map<number, Flow>();
  flows.set(play, own);
  const flow = own.get(Math.max(channel, 0)) ?? new Flow(play, Math.max(channel, 0), plan);
  own.set(Math.max(channel, 0), flow);
  return flow;
}

export function pathOf(play: Play) {
  const path = paths.get(play) ?? criticalPath(play);
  paths.set(play, path);
  return path;
}

export function LogicPicture({ play, channel, time, chosen, path }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const measure = () => setSize({ width: frame.current!.clientWidth, height: frame.current!.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);
  const flow = flowOf(play, channel)!;
  const layout = size.width > 0 ? layOut(play.call, flow.transfers, size.width, size.height) : null;
  const moving = flow.at(time);
  const hops = path ? new Set(pathOf(play).hops.map(([from, to]) => `${from}-${to}`)) : new Set<string>();
  return (
    <figure class="logic">
      <p class="step">{flow.words(time)}</p>
      <div class="frame" ref={frame}>
        {layout && (
          <svg width={size.width} height={size.height} role="img" aria-label={`the ${layout.kind} of ${play.call.name}`} data-kind={layout.kind}>
            {layout.kind === 'matrix' ? (
              <Matrix play={play} flow={flow} time={time} width={size.width} height={size.height} />
            ) : (
              layout.panels.map((panel) => (
                <PanelPicture key={panel.title} play={play} layout={layout} panel={panel} moving={moving} time={time} chosen={chosen} hops={hops} />
              ))
            )}
          </svg>
        )}
      </div>
      {layout && <figcaption>{captionOf(layout.kind, play.call)}</figcaption>}
    </figure>
  );
}

interface PanelProps {
  play: Play;
  layout: Layout;
  panel: Panel;
  moving: Moving[];
  time: number;
  chosen: number;
  hops: Set<string>;
}

function PanelPicture({ play, layout, panel, moving, time, chosen, hops }: PanelProps) {
  const { radius } = layout;
  const spots = new Map(panel.spots.map((spot) => [spot.participant, spot]));
  const own = moving.filter(({ transfer }) => panel.chunks === null || panel.chunks.has(transfer.first));
  const lit = new Map(own.map((each) => [`${each.transfer.from}-${each.transfer.to}`, each]));
  const crowded = panel.edges.length > 2.5 * panel.spots.length;
  return (
    <g>
      {panel.title && (
        <text class="title" x={panel.x + panel.width / 2} y={panel.y - 5} text-anchor="middle">
          {panel.title}
        </text>
      )}
      {panel.boxes.map((box) => (
        <g key={box.title}>
          <rect class="node" x={box.x} y={box.y} width={box.width} height={box.height} rx={6} />
          <text class="title" x={box.x + 6} y={box.y + 13}>
            {box.title}
          </text>
        </g>
      ))}
      {panel.edges.map((edge) => {
        const name = `${edge.from}-${edge.to}`;
        const message = lit.get(name);
        if (crowded && !message) return null;
        return <Arrow key={name} edge={edge} spots={spots} radius={radius} message={message} critical={hops.has(name)} />;
      })}
      <Tokens play={play} moving={own} time={time} panel={panel} spots={spots} radius={radius} />
      {panel.spots.map((spot) => (
        <RankSpot key={spot.participant} spot={spot} play={play} radius={radius} chosen={chosen === spot.participant} />
      ))}
    </g>
  );
}

function RankSpot({ spot, play, radius, chosen }: { spot: Spot; play: Play; radius: number; chosen: boolean }) {
  const { ranks } = play.call;
  const agent = spot.participant >= ranks;
  const faulty = play.call.faultyRanks.includes(spot.participant);
  const label = agent ? 'switch adds' : String(spot.participant);
  const several = play.call.participants.length - ranks > 1;
  return (
    <g class={`rank${chosen ? ' chosen' : ''}${faulty ? ' faulty' : ''}`} data-rank={agent ? undefined : spot.participant} data-agent={agent ? spot.participant - ranks : undefined}>
      {agent ? (
        <rect x={spot.x - (several ? radius : 38)} y={spot.y - radius} width={several ? 2 * radius : 76} height={2 * radius} rx={4} class="adder" />
      ) : (
        <circle cx={spot.x} cy={spot.y} r={radius} fill={originColour(spot.participant, ranks)} />
      )}
      {radius >= 6 && (
        <text x={spot.x} y={spot.y} text-anchor="middle" dominant-baseline="central" style={{ fontSize: `${agent && !several ? 11 : Math.min(12, radius * 1.1)}px` }}>
          {agent && several ? '+' : label}
        </text>
      )}
    </g>
  );
}

/** Ends of an arrow at the borders of its ranks. Both directions lie side by side. */
function ends(edge: Edge, spots: Map<number, Spot>, radius: number): [Point, Point] | null {
  const from = spots.get(edge.from);
  const to = spots.get(edge.to);
  if (!from || !to) return null;
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const along = { x: (to.x - from.x) / length, y: (to.y - from.y) / length };
  const aside = { x: -along.y * 4, y: along.x * 4 };
  const short = Math.min(radius + 2, length / 2 - 1);
  return [
    { x: from.x + along.x * short + aside.x, y: from.y + along.y * short + aside.y },
    { x: to.x - along.x * short + aside.x, y: to.y - along.y * short + aside.y },
  ];
}

function Arrow({ edge, spots, radius, message, critical }: { edge: Edge; spots: Map<number, Spot>; radius: number; message?: Moving; critical: boolean }) {
  const both = ends(edge, spots, radius);
  if (!both) return null;
  const [from, to] = both;
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const along = { x: (to.x - from.x) / length, y: (to.y - from.y) / length };
  const head = Math.min(6, length / 2);
  const base = { x: to.x - along.x * head, y: to.y - along.y * head };
  const wing = { x: (-along.y * head) / 2, y: (along.x * head) / 2 };
  const state = message ? (message.transfer.reduce ? ' adds' : ' copies') : '';
  return (
    <g class={`arrow${state}${critical ? ' critical' : ''}`} data-edge={`${edge.from}-${edge.to}`}>
      <line x1={from.x} y1={from.y} x2={base.x} y2={base.y} />
      <path d={`M${to.x},${to.y} L${base.x + wing.x},${base.y + wing.y} L${base.x - wing.x},${base.y - wing.y} Z`} />
      <title>{`${edge.from} -> ${edge.to}${message ? `, ${chunkWords(message)}` : ''}`}</title>
    </g>
  );
}

function chunkWords({ transfer }: Moving): string {
  const chunks = transfer.count === 1 ? `chunk ${transfer.first}` : `chunks ${transfer.first}-${transfer.first + transfer.count - 1}`;
  return `${chunks}, ${transfer.reduce ? 'added' : 'copied'}, from ranks ${transfer.whose.join(', ')}`;
}

/** The latest message of each arrow: a flag with the chunk's number over a stripe for each rank that is in it. */
function Tokens({ play, moving, time, panel, spots, radius }: { play: Play; moving: Moving[]; time: number; panel: Panel; spots: Map<number, Spot>; radius: number }) {
  const { ranks } = play.call;
  const latest = new Map(moving.map((each) => [`${each.transfer.from}-${each.transfer.to}`, each]));
  const taken: { x: number; y: number; width: number; height: number }[] = [...spots.values()].map((spot) => ({
    x: spot.x - radius,
    y: spot.y - radius,
    width: 2 * radius,
    height: 2 * radius,
  }));
  return (
    <g>
      {[...latest.values()].map((each) => {
        const both = ends(each.transfer, spots, radius);
        if (!both) return null;
        const share = shareOf(each, time);
        const at = { x: both[0].x + share * (both[1].x - both[0].x), y: both[0].y + share * (both[1].y - both[0].y) };
        const label = each.transfer.count === 1 ? `${each.transfer.first}` : `${each.transfer.first}-${each.transfer.first + each.transfer.count - 1}`;
        const width = Math.max(18, 7 * label.length + 6);
        const spot = [{ x: 0, y: 0 }, ...asides(both, radius)]
          .map((aside) => ({ x: at.x + aside.x, y: at.y + aside.y }))
          .find((place) => fits(boxAround(place, width), taken, panel));
        const box = boxAround(spot ?? at, width);
        const free = spot !== undefined;
        if (free) taken.push(box);
        const stripe = (free ? width : 12) / each.transfer.whose.length;
        const left = free ? box.x : at.x - 6;
        return (
          <g key={`${each.transfer.from}-${each.transfer.to}`} class="token" data-chunk={each.transfer.first} data-edge={`${each.transfer.from}-${each.transfer.to}`}>
            {free && <rect class="flag" x={box.x} y={box.y} width={width} height={14} />}
            {each.transfer.whose.map((origin, i) => (
              <rect key={origin} x={left + i * stripe} y={free ? box.y + 14 : at.y - 3} width={stripe} height={6} fill={originColour(origin, ranks)} />
            ))}
            {free && (
              <text x={box.x + width / 2} y={box.y + 7} text-anchor="middle" dominant-baseline="central">
                {label}
              </text>
            )}
            <title>{chunkWords(each)}</title>
          </g>
        );
      })}
    </g>
  );
}

function boxAround(at: Point, width: number) {
  return { x: at.x - width / 2, y: at.y - 10, width, height: 20 };
}

/** Left and right of an arrow, where a flag does not hide it. */
function asides([from, to]: [Point, Point], radius: number): Point[] {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const away = radius + 9;
  const across = { x: ((to.y - from.y) / length) * away, y: (-(to.x - from.x) / length) * away };
  return [across, { x: -across.x, y: -across.y }];
}

function fits(box: ReturnType<typeof boxAround>, taken: ReturnType<typeof boxAround>[], panel: Panel): boolean {
  const inside =
    box.x >= panel.x && box.y >= panel.y && box.x + box.width <= panel.x + panel.width && box.y + box.height <= panel.y + panel.height;
  return inside && !taken.some((other) => overlap(box, other));
}

function shareOf({ begin, end }: Moving, time: number): number {
  return end > begin ? Math.min(Math.max((time - begin) / (end - begin), 0), 1) : 1;
}

function overlap(a: { x: number; y: number; width: number; height: number }, b: typeof a): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function Matrix({ play, flow, time, width, height }: { play: Play; flow: Flow; time: number; width: number; height: number }) {
  const { ranks } = play.call;
  const margin = 26;
  const cell = Math.max(2, Math.min((width - margin - 4) / ranks, (height - margin - 4) / ranks));
  const left = margin + (width - margin - cell * ranks) / 2;
  const every = Math.ceil(15 / cell);
  const states = new Map<string, { moved: number; of: number; flies: boolean }>();
  for (const each of flow.moving) {
    const key = `${each.transfer.from}-${each.transfer.to}`;
    const state = states.get(key) ?? { moved: 0, of: 0, flies: false };
    state.of += 1;
    if (each.end <= time) state.moved += 1;
    else if (each.begin <= time) state.flies = true;
    states.set(key, state);
  }
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  return (
    <g>
      {all.map((from) =>
        all.map((to) => {
          const state = states.get(`${from}-${to}`);
          const done = state ? state.moved / state.of : 0;
          return (
            <rect
              key={`${from}-${to}`}
              class={`cell${state?.flies ? ' flies' : ''}${from === to ? ' own' : ''}`}
              data-edge={`${from}-${to}`}
              x={left + to * cell}
              y={margin + from * cell}
              width={Math.max(cell - 1, 1)}
              height={Math.max(cell - 1, 1)}
              style={from === to || done > 0 ? { fill: originColour(from, ranks), fillOpacity: from === to ? 0.35 : done } : {}}
            >
              <title>{`${from} -> ${to}`}</title>
            </rect>
          );
        }),
      )}
      {all
        .filter((rank) => rank % every === 0)
        .map((rank) => (
          <g key={rank}>
            <text x={left + (rank + 0.5) * cell} y={margin - 8} text-anchor="middle" dominant-baseline="central" data-rank={rank}>
              {rank}
            </text>
            <text x={left - 5} y={margin + (rank + 0.5) * cell} text-anchor="end" dominant-baseline="central">
              {rank}
            </text>
          </g>
        ))}
    </g>
  );
}
