import { readFileSync } from 'node:fs';
import type { ModelServer } from '@parley/testing/model-server';
import { type Figure, figure, quantile } from '../figures.ts';
import type { BenchOptions, StartedMesh } from '../processes.ts';

/** What a flood runs in: a mesh of its own, just started. */
export interface Scene extends BenchOptions {
  mesh: StartedMesh;
  /** The only model of the mesh, of this process. It answers at once unless the flood says how. */
  model: ModelServer;
  /** How many times the logs of the mesh contain this text so far. */
  logged(text: string): number;
}

/** What a stranger does beside a flood. */
export type Probing = 'query' | 'turn' | 'signIn';

/** More work than a mesh can do at once, from clients that do not wait. A new one is a file in this folder and an entry of `floods`. */
export interface Flood {
  /** Names its figures, and selects it with `--flood`. */
  name: string;
  /** What the stranger is measured by. */
  probes: readonly Probing[];
  /** Settings of the mesh beside those of all floods. */
  settings?: Record<string, string>;
  /** Runs the flood to its end, until nothing that was accepted is still to be done. */
  run(scene: Scene): Promise<Figure[]>;
}

/** The operations of a flood, as its clients see them. */
export function operations() {
  const taken: number[] = [];
  const refused: number[] = [];
  const failures = new Map<string, number>();

  return {
    /**
     * Times one. A refusal is told apart from a failure by its code.
     * @returns what it resolved to; undefined where it was refused or failed
     */
    async count<T>(operation: () => Promise<T>): Promise<T | undefined> {
      const before = performance.now();
      try {
        const value = await operation();
        taken.push(performance.now() - before);
        return value;
      } catch (error) {
        const code = codeOf(error);
        if (isRefusal(error)) refused.push(performance.now() - before);
        else failures.set(code, (failures.get(code) ?? 0) + 1);
        return undefined;
      }
    },
    figures(): Figure[] {
      const failed = [...failures].map(([code, count]) => figure(`operations failed with ${code}`, count, 'in all'));
      const times = (name: string, all: number[], bound = {}) =>
        all.length === 0
          ? []
          : [
              figure(`${name}, p50`, quantile(all, 0.5), 'ms'),
              figure(`${name}, p99`, quantile(all, 0.99), 'ms'),
              figure(`${name}, slowest`, Math.max(...all), 'ms', bound),
            ];
      return [
        figure('operations taken', taken.length, 'in all'),
        ...times('operations taken', taken),
        figure('operations refused', refused.length, 'in all'),
        ...times('operations refused', refused, { goal: 1_000 }),
        figure('operations failed', sum(failures.values()), 'in all', { goal: 0 }),
        ...failed,
      ];
    },
  };
}

/** Passes over a refusal of an overloaded gateway, for one client's share of requests (429) or for all of them (503). */
export function whereRefused(error: unknown): undefined {
  if (!isRefusal(error)) throw error;
}

function isRefusal(error: unknown): boolean {
  return String(error).includes('"message":"Too many requests');
}

/** The code of a refused operation of `Client`, else how it failed. */
export function codeOf(error: unknown): string {
  const text = String(error);
  return /"code":"([A-Z_]+)"/u.exec(text)?.[1] ?? 'no answer';
}

/** Counts texts in the logs of a mesh, as far as they are written. */
export function loggedIn(file: string): Scene['logged'] {
  return (text) => readFileSync(file, 'utf8').split(text).length - 1;
}

export function sum(numbers: Iterable<number>): number {
  let all = 0;
  for (const number of numbers) all += number;
  return all;
}
