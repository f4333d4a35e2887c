import { setTimeout as delay } from 'node:timers/promises';
import { closeConnections } from './client.ts';
import type { Figure } from './figures.ts';
import { gatewayFigures } from './gateway.ts';
import { localFigures } from './local.ts';
import { loginsFigures } from './logins.ts';
import { meshFigures } from './mesh.ts';

/**
 * `local`: all of it in one process, as `scripts/up` runs it. `logins`: sign-ins there, and what others feel of them. `gateway`: the
 * gateway alone, beside what it is made of. `mesh`: every unit a process of its own on real servers, as `scripts/up --mesh`.
 */
export const benchParts = ['local', 'logins', 'gateway', 'mesh'] as const;
export type BenchPart = (typeof benchParts)[number];

export interface BenchOptions {
  /** How often what is compared is measured in turn. */
  rounds: number;
  /** Counts so small that the figures mean nothing; all of it runs. */
  short: boolean;
  profileFolder?: string | undefined;
  /** Told what is measured next. */
  say: (text: string) => void;
}

/** What a part is given. */
export interface Measuring extends BenchOptions {
  /** Hears what this machine cannot measure, with the reason. */
  leaveOut(what: string): void;
  /** Waits until what was opened or closed is done with. */
  settle(): Promise<unknown>;
}

export interface Measured {
  figures: Figure[];
  leftOut: string[];
}

const measure: Record<BenchPart, (measuring: Measuring) => Promise<Figure[]>> = {
  local: localFigures,
  logins: loginsFigures,
  gateway: gatewayFigures,
  mesh: meshFigures,
};

/** The figures of these parts, of one machine and one run. */
export async function bench(parts: readonly BenchPart[], options: BenchOptions): Promise<Measured> {
  const figures: Figure[] = [];
  const leftOut: string[] = [];
  const settle = () => delay(options.short ? 50 : 1_500);
  for (const part of benchParts.filter((each) => parts.includes(each))) {
    try {
      figures.push(...(await measure[part]({ ...options, leaveOut: (what) => leftOut.push(what), settle })));
    } finally {
      closeConnections();
    }
  }
  return { figures, leftOut };
}
