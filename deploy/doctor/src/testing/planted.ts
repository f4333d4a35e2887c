import type { Environment } from '@parley/kernel/settings/config';
import type { ListedUnit } from '@parley/units';
import type { ExecutionContext } from 'ava';
import type { Garden } from './garden.ts';

/** A difference from a garden without problems. */
export interface Fault {
  env?: Environment;
  unit?: Partial<ListedUnit>;
  now?: () => number;
  /** Reverts the changes on an engine. */
  undo?: () => Promise<unknown>;
}

export type Plant = (garden: Garden, t: ExecutionContext) => Fault | Promise<Fault>;

/** A fault by which exactly these checks report something, one of them in these words. */
export function planted(what: string, plant: Plant, checks: string[], words: RegExp) {
  return { what, plant, checks, words };
}

/** Nothing listens there. */
export const nowhere = '127.0.0.1:1';

export function changed(url: string | undefined, change: (url: URL) => void): string {
  const copy = new URL(url ?? '');
  change(copy);
  return copy.href;
}
