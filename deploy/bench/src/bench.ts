import type { Figure } from './figure.ts';
import { gatewayFigures } from './gateway/gateway-figures.ts';
import { localFigures } from './local-figures.ts';
import { loginsFigures } from './logins/logins-figures.ts';
import { meshFigures } from './mesh/mesh-figures.ts';
import { closeConnections } from './post.ts';

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
  short?: boolean;
  profileFolder?: string;
  /** Told what is measured next. */
  say: (text: string) => void;
}

export interface Measured {
  figures: Figure[];
  /** What this machine could not measure, each with the reason. */
  leftOut: string[];
}

const measure: Record<BenchPart, (options: BenchOptions) => Promise<Measured>> = {
  local: async (options) => ({ figures: await localFigures(options), leftOut: [] }),
  logins: async (options) => ({ figures: await loginsFigures(options), leftOut: [] }),
  gateway: async (options) => ({ figures: await gatewayFigures(options), leftOut: [] }),
  mesh: meshFigures,
};

/** The figures of these parts, of one machine and one run. */
export async function bench(parts: readonly BenchPart[], options: BenchOptions): Promise<Measured> {
  const all: Measured = { figures: [], leftOut: [] };
  for (const part of benchParts.filter((each) => parts.includes(each))) {
    try {
      const { figures, leftOut } = await measure[part](options);
      all.figures.push(...figures);
      all.leftOut.push(...leftOut);
    } finally {
      closeConnections();
    }
  }
  return all;
}
