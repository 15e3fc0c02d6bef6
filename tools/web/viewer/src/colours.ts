// Okabe and Ito's colours, which colour-blind people can tell apart and which differ in print.

import type { State } from './play';

export const stateColours: Record<State, string> = {
  wait: '#d9d9d9',
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
