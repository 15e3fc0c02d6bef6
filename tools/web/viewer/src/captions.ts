// What to look at in a logical picture, in words.

import type { Call } from './data';
import type { Kind } from './layout';

const captions: Record<Kind, string> = {
  ring: 'Every rank sends only to the next. Follow one chunk: it gathers colours on its first way round, and goes round once more with all of them.',
  chain: 'Every rank hands on what it gets to the next. Watch how several pieces fill the chain: all links are busy once the first has arrived.',
  tree: 'Sums go up and the result comes down. Count the levels, not the ranks: only they make a small call slow.',
  switch: 'The switch adds: every rank sends its chunk up once and gets the sum back once, with no other rank between.',
  star: 'One rank talks to all others. Its port carries everything, while the other ports wait.',
  matrix: 'Row: who sends; column: who receives. Every cell is a message of its own that nobody can shorten.',
  groups: 'Within a node many links, between nodes few. See how much is added inside before anything crosses.',
  cube: 'Every step goes along one direction: partners differ in one bit of their number, and pieces halve or double.',
  circle: 'Only the messages of this step are drawn. Partners stand further apart or closer with every step, and pieces halve or double.',
};

export function captionOf(kind: Kind, call: Call): string {
  if (kind === 'chain' && call.collective !== 'broadcast') return 'Every rank adds what it gets and hands it on to the next. Watch how the sum gathers colours.';
  if (kind === 'tree' && call.collective === 'broadcast') return 'The root tells its children, and they tell theirs. With every level the number of ranks that know doubles.';
  if (kind === 'tree' && call.collective === 'reduce') return 'Children send to their parents, which add. The root has the sum after as many steps as there are levels.';
  if (kind === 'ring' && call.collective !== 'all_reduce') return 'Every rank sends only to the next. Follow one chunk on its way round.';
  return captions[kind];
}
