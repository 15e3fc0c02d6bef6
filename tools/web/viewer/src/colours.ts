// Okabe and Ito's colours, which colour-blind people can tell apart and which differ in print.

import type { State } from './play';

export const stateColours: Record<State, string> = {
  get wait() {
    return theme().wait;
  },
  cost: '#e69f00',
  send: '#0072b2',
  reduce: '#009e73',
  receive: '#56b4e9',
};

export const stateNames: Record<State, string> = {
  wait: 'waits',
  cost: 'cost per slice',
  send: 'sends',
  reduce: 'adds',
  receive: 'receives',
};

export const deviceColours: Record<string, string> = {
  gpu: '#009e73',
  nvswitch: '#56b4e9',
  pcie_switch: '#f0e442',
  cpu: '#cc79a7',
  nic: '#e69f00',
  network_switch: '#d55e00',
};

/** The paper and the inks on it, as the reader's system asks: light or dark. */
export function theme() {
  return globalThis.matchMedia('(prefers-color-scheme: dark)').matches
    ? { dark: true, paper: '#1b1d21', ink: '#e4e4e4', soft: '#a8a8a8', line: '#555b66', wait: '#3a3f48', chosen: '#ff9a4d', mark: '#ffffff' }
    : { dark: false, paper: '#ffffff', ink: '#333333', soft: '#555555', line: '#bbbbbb', wait: '#d9d9d9', chosen: '#d55e00', mark: '#000000' };
}

/** A rank's colour: what it contributed has it wherever it goes. Neighbours differ in brightness, too. */
export function originColour(rank: number, ranks: number): string {
  return `hsl(${Math.round((rank * 360) / ranks)} 62% ${rank % 2 === 0 ? 42 : 54}%)`;
}

/** Phases on the axis of time: dark enough for white words. */
export const phaseColours = ['#7a4a8c', '#2f6f8f', '#8a5a2b', '#4d7a3a', '#8c3f52'];

/** What a fault changes. */
export const faultColour = '#cc0000';

/** From grey (idle) by blue to vermilion (full). */
export function loadColour(percent: number): string {
  if (percent <= 0) return '#c8c8c8';
  const share = Math.min(percent / 100, 1);
  const from = [86, 180, 233];
  const to = [213, 94, 0];
  const mixed = from.map((value, i) => Math.round(value + share * (to[i] - value)));
  return `rgb(${mixed.join(',')})`;
}
