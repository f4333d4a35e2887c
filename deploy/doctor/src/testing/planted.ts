import type { Environment } from '@parley/kernel/settings/config';
import type { ListedUnit } from '@parley/units';
import type { ExecutionContext } from 'ava';
import type { Garden } from './garden.ts';

/** A fault in a test installation: a difference from the same installation without problems. */
export interface Fault {
  env?: Environment;
  unit?: Partial<ListedUnit>;
  now?: () => number;
  /** Reverts the fault's changes on an engine. */
  undo?: () => Promise<unknown>;
}

export type Plant = (garden: Garden, t: ExecutionContext) => Fault | Promise<Fault>;

/** Declares a fault. @param checks the names of all checks that report the fault @param words must match one of the reported texts */
export function planted(what: string, plant: Plant, checks: string[], words: RegExp) {
  return { what, plant, checks, words };
}

/** An address on which no program listens. */
export const nowhere = '127.0.0.1:1';

export function changed(url: string | undefined, change: (url: URL) => void): string {
  const copy = new URL(url ?? '');
  change(copy);
  return copy.href;
}
